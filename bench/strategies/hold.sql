-- Marks the first job as held. The other workers wait only until the commit, which shows the mark to all.
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
