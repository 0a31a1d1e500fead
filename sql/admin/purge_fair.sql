-- Deletes the next $6 ready jobs with a fairness key of one queue, behind rank $2, key $3 and position $4, none that came
-- after $5: as purge_ready.sql does with those that have none.
with batch as materialized (
  select id, -priority as rank, fairness_key, position, group_key
  from dibs.jobs
  where queue_id = $1
    and state = 'ready'
    and fairness_key is not null
    and (-priority, fairness_key, position) > ($2::integer, $3::text, $4::bigint)
    and created_at <= $5::timestamptz
  order by queue_id, -priority, fairness_key, position
  limit (select $6::integer)
  for update skip locked
),
deleted as (
  delete from dibs.jobs j
  where j.queue_id = $1 and j.id = any (array(select id from batch))
)
select
  (select count(*)::integer from batch) as count,
  (select array_agg(group_key) filter (where group_key is not null) from batch) as groups,
  (
    select array[rank::text, fairness_key, position::text]
    from batch
    order by rank desc, fairness_key desc, batch.position desc
    limit 1
  ) as last;
