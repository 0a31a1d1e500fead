-- In the source: the queue lives elsewhere. Deletes what else it had here, as long as its note is that
-- of this relocation.
with
-- include shared/relocating_note.sql role=leaving
,
claim_limit as (
  delete from dibs.claim_limits where queue_id = :queue_id and exists (select from record)
),
log as (
  delete from dibs.claim_log where queue_id = :queue_id and exists (select from record)
),
marks as (
  delete from dibs.fair_marks where queue_id = :queue_id and exists (select from record)
)
delete from dibs.unique_windows where queue_id = :queue_id and exists (select from record);
