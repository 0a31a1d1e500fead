-- A batch `b` of a queue `q`, as it is shown. What has ended is counted in dibs.batches and dibs.batch_ends, what waits by the index
-- jobs_batch.
b.id,
b.name,
q.name as queue,
case
  when b.closed_at is null then 'open'
  when b.succeeded then 'succeeded'
  when b.finished_at is null or waiting.scheduled + waiting.ready + waiting.blocked + waiting.leased > 0 then 'running'
  else 'ended'
end as state,
waiting.scheduled::double precision,
waiting.ready::double precision,
waiting.blocked::double precision,
waiting.leased::double precision,
ended.completed::double precision,
ended.cancelled::double precision,
ended.dead::double precision,
array(
  select case when on_success then 'on_success' else 'on_end' end
  from dibs.batch_followers f
  where f.batch_id = b.id
  order by on_success
) as followers,
b.created_at,
b.closed_at,
b.finished_at
