-- Fails when an open window holds the unique key of one of the jobs :ids, which this transaction has inserted: see
-- enqueue/insert_new_keys.sql.
select dibs.refuse_key() as refused
from unnest(:unique_keys::text[]) as asked (unique_key)
cross join lateral (
  select unique_key
  from dibs.unique_windows
  where queue_id = :queue_id and unique_key = asked.unique_key and until > clock_timestamp()
  order by queue_id, unique_key
  limit 1
) as opened
cross join lateral (
  select
  from dibs.jobs
  where queue_id = :queue_id
    and unique_key = opened.unique_key
    and state in ('scheduled', 'ready', 'blocked', 'leased')
    and id = any (:ids::uuid[])
  order by queue_id, unique_key
  limit 1
) as taken;
