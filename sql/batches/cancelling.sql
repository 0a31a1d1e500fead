-- Batches that are cancelled, with jobs that still wait. Jobs that a worker has may keep others open for long.
select id
from dibs.batches b
where cancelled_at is not null
  and finished_at is null
  and
  -- include shared/has_waiting_jobs.sql
order by cancelled_at
limit 100;
