-- A page of jobs, newest first, of one queue or of all: each queue's own page by primary key (or by state), then
-- the page of those. Planned anew each time, so that what is not asked for vanishes from the plan.
-- The inner limit stands in a sub-select for the planner's sake: see claim.sql.
select
  q.name as queue, j.id, j.state, j.priority, j.attempt, j.max_attempts, j.deliveries, j.run_at, j.created_at,
  j.group_key as "group", j.fairness_key, j.unique_key,
  j.lease_expires_at, j.finished_at, j.worker, j.last_error, j.headers, j.progress, j.result,
  case when $5 then j.payload end as payload
from dibs.queues q
cross join lateral (
  select *
  from dibs.jobs
  where queue_id = q.id
    and ($2::dibs.job_state is null or state = $2)
    and ($6::text is null or group_key = $6)
    and ($7::text is null or unique_key = $7)
    and ($3::uuid is null or id < $3)
  order by id desc
  limit (select $4::integer)
) as j
where $1::text is null or q.name = $1
order by j.id desc
limit $4;
