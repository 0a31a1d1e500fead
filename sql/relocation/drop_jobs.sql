-- In the source: the queue lives elsewhere. Deletes the next :limit of its jobs behind the id :after, as long as
-- its note is that of this relocation.
with
-- include shared/relocating_note.sql role=leaving
,
batch as materialized (
  select j.id
  from dibs.relocating_jobs j
  where j.queue_id = :queue_id and j.id > :after and exists (select from record)
  order by j.queue_id, j.id
  limit (select :limit::integer)
),
gone as (
  delete from dibs.relocating_jobs j
  where j.queue_id = :queue_id and j.id = any (array(select id from batch))
)
select count(*)::integer as count, (select id from batch order by id desc limit 1) as last_id from batch;
