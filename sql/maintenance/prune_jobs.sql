-- Deletes finished jobs of one queue and state that outlived $3 seconds, the next $6 by age, behind those of $4 and $5.
-- Those that somebody waited for stay for 10 seconds at least. The caller goes on behind the last: see purge.sql.
with batch as materialized (
  select id, finished_at
  from dibs.jobs
  where queue_id = $1
    and state = $2::dibs.job_state
    and finished_at <= now() - $3::double precision * interval '1 second'
    and (awaited_until is null or finished_at <= now() - interval '10 seconds')
    and (finished_at, id) > ($4::timestamptz, $5::uuid)
  order by finished_at, id
  limit (select $6::integer)
  for update skip locked
),
deleted as (
  delete from dibs.jobs j
  where j.queue_id = $1 and j.id = any (array(select id from batch))
)
select
  (select count(*)::integer from batch) as count,
  (select array[finished_at::text, id::text] from batch order by batch.finished_at desc, id desc limit 1) as last;
