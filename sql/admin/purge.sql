-- Deletes the next $5 jobs of one queue and state by id, none that came after $4. A row that is being claimed at this
-- moment is left alone. The caller goes on behind `last`, so no batch walks over what the one before deleted.
-- Only that and a number come back: a thousand ids would keep the caller's thread from the claims that it serves. And
-- the groups whose heads are gone.
-- The limit stands in a sub-select for the planner's sake: see claim.sql.
with batch as materialized (
  select id, case when is_head then group_key end as group_key
  from dibs.jobs
  where queue_id = $1 and state = $2::dibs.job_state and id > $3 and created_at <= $4::timestamptz
  order by id
  limit (select $5::integer)
  for update skip locked
),
deleted as (
  delete from dibs.jobs j
  where j.queue_id = $1 and j.id = any (array(select id from batch))
)
select
  (select count(*)::integer from batch) as count,
  (select array_agg(group_key) filter (where group_key is not null) from batch) as groups,
  (select array[id::text] from batch order by id desc limit 1) as last;
