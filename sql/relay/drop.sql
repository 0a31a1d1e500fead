-- The queue is gone, and its jobs with it, and the note of its parcels: nobody sends to this number again. Returns how many waited here, up to :limit.
with gone as (
  delete from dibs.relay
  where queue_id = :queue_id
    and place = any (array(
      select place
      from dibs.relay
      where queue_id = :queue_id
      order by queue_id, place
      limit (select :limit::integer)
    ))
  returning place
),
forgotten as (
  delete from dibs.relay_parcels where queue_id = :queue_id
)
select count(*)::integer as count from gone;
