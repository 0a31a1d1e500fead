-- Deletes an empty, locked queue, with its row of dibs.claim_limits, its claim log and its rows of dibs.fair_marks.
with claim_limit as (
  delete from dibs.claim_limits where queue_id = :queue_id
),
log as (
  delete from dibs.claim_log where queue_id = :queue_id
),
marks as (
  delete from dibs.fair_marks where queue_id = :queue_id
)
delete from dibs.queues where id = :queue_id;
