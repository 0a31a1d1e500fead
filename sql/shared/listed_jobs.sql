-- A page of jobs of the queues `queue`, up to the side of :after and the order, which differ. It takes the page of each queue
-- by primary key (or by state), and then the page of those. Planned at each call, so that filters that are not set vanish
-- from the plan. The inner limit stands in a sub-select for the planner's sake: see claim_scan.sql.
-- The window has no order of its own: it takes the rows in the order of the page. The page ends when its jobs have :max_bytes together, but it always has the first. `found` is how many it would have had.
select
  j.queue, j.state, j.finished_at, j.result,
  case when :include_payload then j.payload end as payload,
  -- include shared/job_columns.sql
  , found
from (
  select
    *,
    count(*) over ()::integer as found,
    sum(bytes) over (rows unbounded preceding) - bytes as bytes_before
  from (
    select
      q.name as queue, j.*,
      coalesce(octet_length(result::text), 0) + case when not :include_payload then -payload_bytes else 0 end +
      -- include shared/job_bytes.sql
      as bytes
    from queue q
    cross join lateral (
      select *
      from dibs.jobs
      where
        -- include shared/listed_filter.sql
