-- A page of jobs, of one queue or of all, up to the side of :after and the order, which differ. It takes the page of each queue
-- by primary key (or by state), and then the page of those. Planned at each call, so that filters that are not set vanish
-- from the plan. The inner limit stands in a sub-select for the planner's sake: see claim_scan.sql.
select
  q.name as queue, j.state, j.finished_at, j.result,
  case when :include_payload then j.payload end as payload,
  -- include shared/job_columns.sql
from dibs.queues q
cross join lateral (
  select *
  from dibs.jobs
  where queue_id = q.id
    and (:state::dibs.job_state is null or state = :state)
    and (:group::text is null or group_key = :group)
    and (:unique_key::text is null or unique_key = :unique_key)
