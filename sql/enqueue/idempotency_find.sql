-- The jobs that are kept under a key, in the order of the request: a row for each. `matches` says whether they are of this
-- request, and `open` whether others may still replace them.
-- A record of a Dibs before migration 0027 has an answer and no jobs. It comes as `older`, in one row.
select
  k.fingerprint = decode(:fingerprint, 'hex') as matches,
  k.open_until > now() as open,
  case when k.status <> 503 then
    json_build_object('status', k.status, 'location', k.location, 'body', k.body)::text
  end as older,
  job.*,
  k.replaced[job.ordinality] as replaced,
  k.batches[job.ordinality] as batch
from dibs.idempotency_keys k
left join lateral unnest(case when k.status = 503 then k.jobs end) with ordinality as job on true
where k.route = :route and k.key = :key and k.expires_at > now()
order by job.ordinality;
