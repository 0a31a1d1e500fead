-- Deletes an empty, locked queue, with its row of dibs.claim_limits and its claim log.
with claim_limit as (
  delete from dibs.claim_limits where queue_id = :queue_id
),
log as (
  delete from dibs.claim_log where queue_id = :queue_id
)
delete from dibs.queues where id = :queue_id;
