-- The parcel to a queue that is under way, a row for each of its jobs in their order. A row without `place` comes back for one
-- whose jobs are gone: it has arrived. `waited_seconds`: how long the job has waited.
select
  d.number,
  r.queue, r.place, r.id, r.moved,
  extract(epoch from clock_timestamp() - r.created_at)::double precision as waited_seconds,
  (r.job).delay_seconds, (r.job).run_at, (r.job).priority, (r.job).max_attempts, (r.job).backoff, (r.job).headers,
  (r.job).payload, (r.job).unique_key, (r.job).unique_for_seconds, (r.job).group_key as "group", (r.job).fairness_key,
  (r.job).expires_in_seconds
from dibs.relay_parcels d
left join dibs.relay r on r.place = any (d.places)
where d.queue_id = :queue_id and d.places <> '{}'
order by r.place;
