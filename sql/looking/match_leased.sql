-- The ids of up to :limit leased jobs that match, in the order of a list. No index has leases by id. But all leases of all queues are few,
-- however many jobs wait: so this walks the index that has them, and reads the rows of those in the queues that are asked for.
with leased as materialized (
  select queue_id, id
  from dibs.jobs
  where
    -- include shared/asked_leases.sql
    and (:unique_key::text is null or unique_key = :unique_key)
    and (:after::uuid is null or case when :newest::boolean then id < :after else id > :after end)
    and
    -- include shared/job_filter.sql
)
select queue_id, id
from leased
order by case when :newest then id end desc, case when not :newest then id end
limit :limit;
