-- Deletes the next :limit ready jobs with a fairness key of one queue, behind :after_rank, :after_key and
-- :after_position, but none that came after the call. See purge_ready.sql, which does this for jobs without a key.
with batch as materialized (
  select id, state, unique_key, -priority as rank, fairness_key, position, group_key
  from dibs.jobs
  where queue_id = :queue_id
    and state = 'ready'
    and fairness_key is not null
    and (-priority, fairness_key, position) > (:after_rank::integer, :after_key::text, :after_position::bigint)
    and
    -- include shared/there_at_call.sql
  order by queue_id, -priority, fairness_key, position
  limit (select :limit::integer)
  for update skip locked
),
-- include shared/delete_batch.sql dead=cancelled
,
last as (
  select rank, fairness_key, position from batch order by rank desc, fairness_key desc, position desc limit 1
)
select
  (select count(*)::integer from batch) as count,
  (select array_agg(group_key) filter (where group_key is not null) from batch) as groups,
  (select rank from last) as after_rank,
  (select fairness_key from last) as after_key,
  (select position from last) as after_position;
