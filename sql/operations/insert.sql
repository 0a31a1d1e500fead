-- Keeps a new operation, unless :most are running, or :most_of_one of this caller.
insert into dibs.operations as o (
  id, verb, queue_id, queue, to_id, to_queue, states, group_key, fairness_key, worker, error_contains, created_after,
  created_before, dry_run, last_position, open_transactions, next_transaction, actor
)
select
  :id, :verb, :queue_id, :queue, :to_id, :to, :states::text[], :group, :fairness_key, :worker, :error_contains, :created_after,
  :created_before, :dry_run, :last_position, :open_transactions::text[], :next_transaction, :by
from (
  select count(*) as running, count(*) filter (where actor is not distinct from :by::text) as own
  from dibs.operations
  where state = 'running'
) as now
where now.running < :most::integer and now.own < :most_of_one::integer
returning
  -- include shared/operation_columns.sql
;
