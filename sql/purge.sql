-- Deletes the next 1000 jobs of one queue and state by id, none that came after $4. A row that is being claimed at
-- this moment is left alone. The caller goes on behind the last id, so no batch walks over what the one before deleted.
-- The limit stands in a sub-select for the planner's sake: see claim.sql.
with batch as materialized (
  select id
  from dibs.jobs
  where queue_id = $1 and state = $2::dibs.job_state and id > $3 and created_at <= $4::timestamptz
  order by id
  limit (select 1000)
  for update skip locked
)
delete from dibs.jobs j
where j.queue_id = $1 and j.id = any (array(select id from batch))
returning j.id;
