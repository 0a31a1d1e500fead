-- The ids of up to :limit jobs of a queue that match, in the {order} of their ids. How many jobs it looked at, and the last one of
-- these. It looks at up to :look jobs {beyond} :after, however few of them match. So it walks by one index (`looked`), and there only the
-- filters of this index stand. :walked_state is null when that is not the index by state. An id begins with its time: so
-- :first_id and :last_id bound the times of the filter. With :payload_contains, payloads are read: so it ends when those that it
-- looked at have :look_bytes together, but it looks at one at least. Without it, the planner leaves the sum out.
with looked as materialized (
  select id, unique_key
  from (
    select
      id, unique_key,
      case
        when :payload_contains::text is null then 0
        else sum(payload_bytes) over (order by id {order} rows unbounded preceding) - payload_bytes
      end as bytes_before
    from dibs.jobs
    where queue_id = :queue_id
      and (:walked_state::dibs.job_state is null or state = :walked_state)
      and (:group::text is null or group_key = :group)
      and (:unique_key::text is null or unique_key = :unique_key)
      and id between :first_id::uuid and :last_id::uuid
      and (:after::uuid is null or id {beyond} :after)
    order by id {order}
    limit (select :look::integer)
  ) as walked
  where bytes_before < :look_bytes::integer
)
select
  (select count(*)::integer from looked) as looked,
  (select id from looked order by id {reverse} limit 1) as last_id,
  array(
    select id
    from dibs.jobs
    where queue_id = :queue_id
      and id = any (array(select id from looked))
      and (:state::text is null or state::text = :state)
      and
      -- include shared/job_filter.sql
      and (:payload_contains is null or strpos(payload::text, :payload_contains) > 0)
    order by id {order}
    limit (select :limit::integer)
  ) as ids;
