-- The jobs of a queue that a list with a filter looks at, up to the side of :after and the order, which differ. The statement
-- closes the bracket. It looks at a bounded number of jobs, however few of them match: so it walks by one index, and only this
-- one's filters stand here. :walked_state is null when that is not the index by state. An id begins with its time: so :first_id and
-- :last_id bound the times of the filter.
with looked as materialized (
  select id, unique_key
  from dibs.jobs
  where queue_id = :queue_id
    and (:walked_state::dibs.job_state is null or state = :walked_state)
    and (:group::text is null or group_key = :group)
    and (:unique_key::text is null or unique_key = :unique_key)
    and id between :first_id::uuid and :last_id::uuid
