-- `are_any` says whether there are sessions, `in_ms` when one may end, `are_ending` whether some have ended whose leases
-- may not have.
exists (select from dibs.sessions) or exists (select from dibs.session_replicas) as are_any,
exists (select from dibs.sessions where ended) as are_ending,
(extract(epoch from least(
  (select min(ends_at) from dibs.sessions where ends_at is not null and not ended),
  (select min(alive_until) from dibs.session_replicas)
) - now()) * 1000)::double precision as in_ms
