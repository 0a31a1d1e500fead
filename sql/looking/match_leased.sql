-- The ids of up to :limit leased jobs that match, in the order of a list. No index has leases by id. But all leases of all queues are few,
-- however many jobs wait: so this walks the index that has them, and reads the rows of those in the queues that are asked for.
-- The bounds and BETWEEN are for the planner: see counts.sql.
with leased as materialized (
  select queue_id, id
  from dibs.jobs
  where state = 'leased'
    and lease_expires_at between (select '-infinity'::timestamptz) and (select 'infinity'::timestamptz)
    and (
      :queue::text is null and :visible::text[] is null
      or queue_id = any (array(
        select id
        from dibs.queues
        where (:queue is null or name = :queue) and (:visible is null or name like any (:visible))
      ))
    )
    and (:unique_key::text is null or unique_key = :unique_key)
    and (:after::uuid is null or case when :newest::boolean then id < :after else id > :after end)
    and
    -- include shared/job_filter.sql
)
select queue_id, id
from leased
order by case when :newest then id end desc, case when not :newest then id end
limit :limit;
