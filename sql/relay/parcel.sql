-- The parcel to a queue that is under way, a row for each of its jobs in their order. A row without `place` comes back for one
-- whose jobs are gone: it has arrived. `waited_seconds`: how long the job has waited. `awaited_seconds`: for how long a client
-- still waits for its end.
select
  d.number,
  r.queue, r.place, r.id, r.moved, r.on_duplicate, r.unique_until,
  extract(epoch from clock_timestamp() - r.created_at)::double precision as waited_seconds,
  extract(epoch from r.awaited_until - clock_timestamp())::double precision as awaited_seconds,
  -- include shared/asked_job.sql from=r.job
from dibs.relay_parcels d
left join dibs.relay r on r.queue_id = d.queue_id and r.place = any (d.places)
where d.queue_id = :queue_id and d.places <> '{}'
order by r.place;
