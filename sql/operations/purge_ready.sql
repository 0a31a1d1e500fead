-- Deletes the next :limit ready jobs without a fairness key of one queue, in the order of claims, behind :after_rank
-- and :after_position, but none that came after the call. It works like purge.sql, but by the only index that has
-- these jobs. By id, each chunk of a table that was not analyzed yet sorted everything that was ready (60 ms for
-- 100,000).
with batch as materialized (
  select id, state, unique_key, -priority as rank, position, group_key
  from dibs.jobs
  where queue_id = :queue_id
    and state = 'ready'
    and fairness_key is null
    and (-priority, position) > (:after_rank::integer, :after_position::bigint)
    and
    -- include shared/there_at_call.sql
  order by queue_id, -priority, position
  limit (select :limit::integer)
  for update skip locked
),
-- include shared/delete_batch.sql dead=cancelled
,
last as (
  select rank, position from batch order by rank desc, position desc limit 1
)
select
  (select count(*)::integer from batch) as count,
  (select array_agg(group_key) filter (where group_key is not null) from batch) as groups,
  (select rank from last) as after_rank,
  (select position from last) as after_position;
