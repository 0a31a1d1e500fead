-- In the source: puts the next :limit jobs behind the id :after back.
with
-- include shared/relocating_note.sql role=returning
,
batch as materialized (
  select j.id
  from dibs.relocating_jobs j
  where j.queue_id = :queue_id and j.id > :after and exists (select from record)
  order by j.queue_id, j.id
  limit (select :limit::integer)
),
taken as (
  delete from dibs.relocating_jobs j
  where j.queue_id = :queue_id and j.id = any (array(select id from batch))
  returning j.*
),
put as (
  insert into dibs.jobs select * from taken
)
select count(*)::integer as count, (select id from batch order by id desc limit 1) as last_id from batch;
