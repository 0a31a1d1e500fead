-- Leases the first 100 free jobs.
update queue
set held = true, leased_until = now() + interval '30 seconds'
where id = any (array(
  select id
  from queue
  where not held
  order by id
  limit 100
  for update skip locked
))
returning id, payload;
