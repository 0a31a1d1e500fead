-- In the source: takes the last :limit jobs before the id :before out of dibs.jobs, where a lock of one makes it wait. From here on
-- nobody can claim or settle them here. Returns how many, and the first of their ids.
-- It goes from the last job to the first: a job of a group leaves before those that it waits for. So no group goes on here with a
-- later job.
with
-- include shared/relocating_note.sql role=leaving
,
batch as materialized (
  select j.id
  from dibs.jobs j
  where j.queue_id = :queue_id and j.id < :before and exists (select from record)
  order by j.queue_id desc, j.id desc
  limit (select :limit::integer)
),
taken as (
  delete from dibs.jobs j
  where j.queue_id = :queue_id
    and j.id = any (array(select id from batch))
    and
    -- include shared/no_ack.sql dead=dead
  returning j.*
),
kept as (
  insert into dibs.relocating_jobs select * from taken
)
select count(*)::integer as count, (select id from batch order by id limit 1) as first_id from batch;
