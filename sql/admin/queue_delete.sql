-- Deletes an empty, locked queue, and what is kept of its limits.
with gate as (
  delete from dibs.gates where queue_id = $1
),
log as (
  delete from dibs.claimed where queue_id = $1
)
delete from dibs.queues where id = $1;
