-- Deletes finished jobs of one queue and state that outlived :retention_seconds: the next :limit by age, behind
-- :after_finished_at and :after_id. A job that a client waited for stays for at least 10 seconds. The caller goes on
-- behind the last job: see operations/purge.sql.
with batch as materialized (
  select id, finished_at, state, unique_key
  from dibs.jobs
  where queue_id = :queue_id
    and state = :state::dibs.job_state
    and finished_at <= now() - :retention_seconds::double precision * interval '1 second'
    and (awaited_until is null or finished_at <= now() - interval '10 seconds')
    and (finished_at, id) > (:after_finished_at::timestamptz, :after_id::uuid)
  order by finished_at, id
  limit (select :limit::integer)
  for update skip locked
),
-- include shared/delete_batch.sql dead=dead
,
last as (
  select id, finished_at from batch order by finished_at desc, id desc limit 1
)
select
  (select count(*)::integer from batch) as count,
  (select finished_at::text from last) as after_finished_at,
  (select id from last) as after_id;
