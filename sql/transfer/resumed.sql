-- Those of these queues that nobody imports any more: somebody has resumed them. The lock has a resume wait until the batch is in.
with held as materialized (
  select name, is_importing
  from dibs.queues
  where id = any (:ids::integer[])
  order by id
  for share
)
select name from held where not is_importing order by name;
