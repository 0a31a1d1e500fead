-- In the source: the queue lives elsewhere. Deletes what else it had here.
with claim_limit as (
  delete from dibs.claim_limits where queue_id = :queue_id
),
log as (
  delete from dibs.claim_log where queue_id = :queue_id
),
marks as (
  delete from dibs.fair_marks where queue_id = :queue_id
)
delete from dibs.unique_windows where queue_id = :queue_id;
