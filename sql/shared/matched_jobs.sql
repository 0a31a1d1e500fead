-- The ids of up to :limit jobs of a queue that match, in the {order} of their ids. How many jobs it looked at, and the last one of
-- these. It looks at up to :look jobs {beyond} :after, however few of them match. So it walks by one index (`looked`), and there only the
-- filters of this index stand. :walked_state is null when that is not the index by state. An id begins with its time: so
-- :first_id and :last_id bound the times of the filter.
with looked as materialized (
  select id, unique_key
  from dibs.jobs
  where queue_id = :queue_id
    and (:walked_state::dibs.job_state is null or state = :walked_state)
    and (:group::text is null or group_key = :group)
    and (:unique_key::text is null or unique_key = :unique_key)
    and id between :first_id::uuid and :last_id::uuid
    and (:after::uuid is null or id {beyond} :after)
  order by id {order}
  limit (select :look::integer)
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
    order by id {order}
    limit (select :limit::integer)
  ) as ids;
