-- Marks the first job as held, which its commit shows to all: only for so long do the others wait.
update queue
set held = true
where id = (
  select id
  from queue
  where not held
  order by id
  limit 1
  for update
)
returning id, payload;
