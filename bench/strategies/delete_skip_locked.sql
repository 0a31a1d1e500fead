-- Deletes the first job that nobody has locked, in the transaction that works it: it is back should the worker die.
delete from queue
where id = (
  select id
  from queue
  order by id
  limit 1
  for update skip locked
)
returning id, payload;
