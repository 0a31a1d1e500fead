-- Takes queues their rows. What was counted for them goes to queue -1, so that nothing vanishes from the sum.
with gone as (
  delete from dibs.totals where queue_id > 0 and queue_id = any (:queue_ids::integer[]) returning *
)
update dibs.totals t
set
  enqueued = t.enqueued + gone.enqueued,
  deduplicated = t.deduplicated + gone.deduplicated,
  claimed = t.claimed + gone.claimed,
  acked = t.acked + gone.acked,
  nacked = t.nacked + gone.nacked,
  released = t.released + gone.released,
  rescued = t.rescued + gone.rescued,
  expired = t.expired + gone.expired,
  dead = t.dead + gone.dead
from (
  select
    coalesce(sum(enqueued), 0)::bigint as enqueued,
    coalesce(sum(deduplicated), 0)::bigint as deduplicated,
    coalesce(sum(claimed), 0)::bigint as claimed,
    coalesce(sum(acked), 0)::bigint as acked,
    coalesce(sum(nacked), 0)::bigint as nacked,
    coalesce(sum(released), 0)::bigint as released,
    coalesce(sum(rescued), 0)::bigint as rescued,
    coalesce(sum(expired), 0)::bigint as expired,
    coalesce(sum(dead), 0)::bigint as dead
  from gone
) as gone
where t.queue_id = -1;
