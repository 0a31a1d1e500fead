-- Adds what a replica has counted. What belongs to queues without a row of their own goes to queue 0.
update dibs.totals t
set
  enqueued = t.enqueued + added.enqueued,
  deduplicated = t.deduplicated + added.deduplicated,
  claimed = t.claimed + added.claimed,
  acked = t.acked + added.acked,
  nacked = t.nacked + added.nacked,
  released = t.released + added.released,
  rescued = t.rescued + added.rescued,
  expired = t.expired + added.expired,
  dead = t.dead + added.dead
from (
  select
    coalesce(o.queue_id, 0) as queue_id,
    sum(n.enqueued)::bigint as enqueued,
    sum(n.deduplicated)::bigint as deduplicated,
    sum(n.claimed)::bigint as claimed,
    sum(n.acked)::bigint as acked,
    sum(n.nacked)::bigint as nacked,
    sum(n.released)::bigint as released,
    sum(n.rescued)::bigint as rescued,
    sum(n.expired)::bigint as expired,
    sum(n.dead)::bigint as dead
  from unnest(
    :queue_ids::integer[], :enqueued::bigint[], :deduplicated::bigint[], :claimed::bigint[], :acked::bigint[],
    :nacked::bigint[], :released::bigint[], :rescued::bigint[], :expired::bigint[], :dead::bigint[]
  ) as n (queue_id, enqueued, deduplicated, claimed, acked, nacked, released, rescued, expired, dead)
  left join dibs.totals o on o.queue_id = n.queue_id and o.queue_id > 0
  group by 1
) as added
where t.queue_id = added.queue_id;
