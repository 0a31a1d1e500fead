-- The records of keys, with the answers. All statements take keys in one order, so that no two of them can deadlock.
insert into dibs.idempotency_keys (route, key, fingerprint, expires_at, status, location, body, open_until)
select
  route, key, decode((:fingerprints::text[])[n], 'hex'), now() + interval '24 hours',
  (:statuses::smallint[])[n], (:locations::text[])[n],
  replace(
    replace(
      replace((:bodies::text[])[n], :state_mark::text, state::text),
      :run_at_mark::text, answered_run_at
    ),
    :created_at_mark::text, moment.created_at
  ),
  now() + (:open_seconds::double precision[])[n] * interval '1 second'
from queue
cross join moment
cross join asked
where asked.id = (:firsts::uuid[])[n]
order by route, key
