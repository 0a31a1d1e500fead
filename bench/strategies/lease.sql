-- Leases the first free job and commits at once: no transaction is open while a worker does the job.
update queue
set held = true, leased_until = now() + interval '30 seconds'
where id = (
  select id
  from queue
  where not held
  order by id
  limit 1
  for update skip locked
)
returning id, payload;
