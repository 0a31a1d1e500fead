-- Takes a running operation for one portion. Callers take turns: :served has those that this replica has worked for, the last one last.
-- Of a caller's operations, it takes the one that was worked on longest ago. Another replica may have taken one: then the next. Those
-- that rest (later.sql) have no turn. Its call is too old when transaction ids since then come near to a half of what there_at_call.sql
-- tells apart.
select
  id, verb, queue_id, queue, to_id, to_queue as "to", states, group_key as "group", fairness_key, worker, error_contains,
  created_after::text as created_after, created_before::text as created_before, created_at::text as called_at,
  dry_run, counted, step, after_id, matched, last_position, open_transactions, next_transaction, actor,
  exists (select from dibs.queues q where q.id = o.queue_id) as has_queue,
  (pg_snapshot_xmax(pg_current_snapshot())::text::bigint - next_transaction) & 4294967295 > 134217728 as is_too_old
from dibs.operations o
where state = 'running' and worked_at <= clock_timestamp()
order by coalesce(array_position(:served::text[], coalesce(actor, '')), 0), worked_at, id
limit 1
for update skip locked;
