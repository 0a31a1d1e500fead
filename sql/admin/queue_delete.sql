-- Deletes an empty, locked queue, and what is kept of its limits.
with claim_limit as (
  delete from dibs.claim_limits where queue_id = :queue_id
),
log as (
  delete from dibs.claim_log where queue_id = :queue_id
)
delete from dibs.queues where id = :queue_id;
