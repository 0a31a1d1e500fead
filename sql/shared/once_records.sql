-- The records of keys, with the jobs as they are inserted.
-- All statements take keys in one order, so that no two of them can deadlock.
insert into dibs.idempotency_keys (route, key, fingerprint, expires_at, jobs, open_until)
select
  (:routes::text[])[n] as route,
  (:keys::text[])[n] as key,
  decode((:fingerprints::text[])[n], 'hex'),
  now() + interval '24 hours',
  kept.jobs,
  now() + (:open_seconds::double precision[])[n] * interval '1 second'
from (
  select
    n,
    array_agg(
      row(
        -- include shared/kept_values.sql
      )::dibs.kept_job
      order by asked.id
    ) as jobs
  from queue
  cross join asked
  group by n
) as kept
order by route, key
