-- Deletes the next :limit jobs of one queue and state by id, behind :after_id, but none that came after the call. It
-- passes over a job that is being claimed at this moment. The caller goes on behind the last job, so that no batch
-- walks over the rows that the batch before deleted.
-- Only numbers, the last job and the groups without a head come back. A thousand ids would keep the caller's thread
-- from the claims that it serves.
-- The limit stands in a sub-select for the planner's sake: see shared/claim_scan.sql.
with batch as materialized (
  select id, state, unique_key, case when is_head then group_key end as group_key
  from dibs.jobs
  where queue_id = :queue_id
    and state = :state::dibs.job_state
    and id > :after_id
    and
    -- include shared/there_at_call.sql
  order by id
  limit (select :limit::integer)
  for update skip locked
),
-- include shared/delete_batch.sql dead=cancelled
select
  (select count(*)::integer from batch) as count,
  (select array_agg(group_key) filter (where group_key is not null) from batch) as groups,
  (select id from batch order by id desc limit 1) as after_id;
