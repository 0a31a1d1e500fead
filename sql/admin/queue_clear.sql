-- Deletes the next $3 jobs of a queue by id, behind $2, whatever their state: see purge.sql.
with batch as materialized (
  select id from dibs.jobs where queue_id = $1 and id > $2 order by id limit (select $3::integer)
),
deleted as (
  delete from dibs.jobs j
  where j.queue_id = $1 and j.id = any (array(select id from batch))
)
select
  (select count(*)::integer from batch) as count,
  (select array[id::text] from batch order by id desc limit 1) as last;
