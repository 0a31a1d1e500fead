-- The ids of the jobs among those looked at (`looked`) that match. The statement adds the order.
from dibs.jobs
where queue_id = :queue_id
  and id = any (array(select id from looked))
  and (:state::text is null or state::text = :state)
  and
  -- include shared/job_filter.sql
