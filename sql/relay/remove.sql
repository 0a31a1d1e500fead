-- Removes a job that is in no parcel. So it has not arrived, and never will. The transaction holds the parcels of its queue.
delete from dibs.relay
where (queue_id, place) = (
    select queue_id, place
    from dibs.relay r
    where id = :id
      and not exists (
        select from dibs.relay_parcels p where p.queue_id = r.queue_id and r.place = any (p.places) offset 0
      )
  )
returning
  now() as finished_at,
  -- include shared/relayed_job.sql
;
