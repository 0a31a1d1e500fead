-- Writes the samples of this minute, all in one statement. When two replicas do it at once, the rows of the first one
-- stay. What happened in all queues is the sum of all rows of the totals, so it never shrinks.
insert into dibs.samples (
  minute, queue_id, ready, waiting, leased, dead, oldest_ready_seconds, enqueued, acked, failed, died
)
select
  date_trunc('minute', now()), n.queue_id, n.ready, n.waiting, n.leased, n.dead, n.oldest, t.enqueued, t.acked, t.failed, t.died
from unnest(
  :queue_ids::integer[], :ready::bigint[], :waiting::bigint[], :leased::bigint[], :dead::bigint[], :oldest::double precision[]
) as n (queue_id, ready, waiting, leased, dead, oldest)
left join lateral (
  select
    sum(enqueued)::bigint as enqueued, sum(acked)::bigint as acked, sum(nacked + rescued)::bigint as failed, sum(dead)::bigint as died
  from dibs.totals
  where n.queue_id = 0 or queue_id = n.queue_id
) as t on true
order by n.queue_id
on conflict do nothing;
