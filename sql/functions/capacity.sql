-- The free places of a queue with max_ready. Null when it has no max_ready. It counts ready and blocked jobs by indexes
-- alone, up to the limit. On the hints to the planner see sql/counting/counts.sql.
create or replace function dibs.capacity(queue_id integer)
returns integer
language sql
stable
as $function$
select greatest(0, q.max_ready - ready.n - with_key.n - blocked.n)
from dibs.queues q
cross join lateral (
  select count(*)::integer as n
  from (
    select
    from dibs.jobs j
    where j.queue_id = capacity.queue_id
      and j.state = 'ready'
      and j.fairness_key is null
      and j.position between (select 0) and (select 9223372036854775807)
    limit q.max_ready
  ) as found
) as ready
cross join lateral (
  select count(*)::integer as n
  from (
    select
    from dibs.jobs j
    where j.queue_id = capacity.queue_id and j.state = 'ready' and j.fairness_key is not null
    order by j.queue_id, -j.priority, j.fairness_key, j.position
    limit q.max_ready
  ) as found
) as with_key
cross join lateral (
  select count(*)::integer as n
  from (
    select
    from dibs.jobs j
    where j.queue_id = capacity.queue_id and j.state = 'blocked'
    order by j.queue_id, j.state, j.id
    limit q.max_ready
  ) as found
) as blocked
where q.id = capacity.queue_id and q.max_ready is not null;
$function$;

revoke all on function dibs.capacity from public;
