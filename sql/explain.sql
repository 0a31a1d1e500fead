-- What decides why a job is not running; what goes before it is counted up to $3. Each of the lateral parts is looked at
-- only for jobs in the state that it is about.
select
  j.id, j.state, j.attempt, j.max_attempts, j.run_at, j.lease_expires_at, j.finished_at, j.worker, j.last_error,
  j.cancel_requested, j.group_key as "group", j.expires_at, j.expires_at <= now() as is_over,
  q.paused,
  head.id as head_id, head.state as head_state,
  behind.jobs + line.jobs as ahead
from dibs.jobs j
cross join dibs.queues q
left join lateral (
  select id, state
  from dibs.jobs
  where j.state = 'blocked' and queue_id = $1 and group_key = j.group_key and is_head
  order by queue_id, group_key
  limit 1
) as head on true
cross join lateral (
  select count(*)::integer as jobs
  from (
    select
    from dibs.jobs
    where j.state = 'blocked' and queue_id = $1 and group_key = j.group_key and state = 'blocked' and position < j.position
    order by queue_id, group_key, position
    limit (select $3::integer)
  ) as found
) as behind
cross join lateral (
  select count(*)::integer as jobs
  from (
    select
    from dibs.jobs
    where j.state = 'ready' and queue_id = $1 and state = 'ready' and (-priority, position) < (-j.priority, j.position)
    order by queue_id, -priority, position
    limit (select $3::integer)
  ) as found
) as line
where j.queue_id = $1 and j.id = $2 and q.id = $1;
