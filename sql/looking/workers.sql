-- Who has leases now: a row for each worker and queue. The leases of all queues stand in one index, by their ends. This
-- looks at up to :look of those that are asked for, the ones that end last. `looked` is how many there were.
with looked as materialized (
  select queue_id, worker, leased_at, lease_expires_at
  from dibs.jobs
  where
    -- include shared/asked_leases.sql
  order by lease_expires_at desc, queue_id desc
  limit (select :look::integer)
)
select
  l.worker,
  q.name as queue,
  count(*)::integer as leased,
  min(l.leased_at) as since,
  min(l.lease_expires_at) as next_end,
  (select count(*)::integer from looked) as looked
from looked l
join dibs.queues q on q.id = l.queue_id
group by l.worker, q.name;
