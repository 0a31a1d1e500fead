-- Deletes an empty, locked queue, with its row of dibs.claim_limits, its claim log and its rows of dibs.fair_marks. Its number is
-- free from now on.
with claim_limit as (
  delete from dibs.claim_limits where queue_id = :queue_id
),
log as (
  delete from dibs.claim_log where queue_id = :queue_id
),
marks as (
  delete from dibs.fair_marks where queue_id = :queue_id
),
free as (
  insert into dibs.free_queue_ids (queue_id)
  values (:queue_id)
  on conflict (queue_id) do update set since = excluded.since
)
delete from dibs.queues where id = :queue_id;
