-- The totals of all replicas, with the queues that have a row of their own. A queue that was deleted has no name.
-- LIMIT makes each queue a probe of the primary key. A join might read all queues.
select
  t.queue_id, q.name, q.paused, q.max_ready, q.max_leased, q.alert_after_seconds,
  -- include shared/event_columns.sql
from dibs.totals t
left join lateral (
  select name, paused, max_ready, max_leased, alert_after_seconds from dibs.queues where id = t.queue_id limit 1
) as q on true
order by t.queue_id;
