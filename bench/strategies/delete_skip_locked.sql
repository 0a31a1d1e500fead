-- Deletes the first job that nobody has locked, in the transaction in which a worker does it. If the worker
-- dies, the job is back.
delete from queue
where id = (
  select id
  from queue
  order by id
  limit 1
  for update skip locked
)
returning id, payload;
