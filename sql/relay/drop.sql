-- The queue is gone, and its jobs with it. Returns how many waited here, up to :limit.
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
ended as (
  update dibs.relay_parcels set places = '{}' where queue_id = :queue_id
)
select count(*)::integer as count from gone;
