-- A parcel has arrived: its jobs wait here no more.
with ended as (
  update dibs.relay_parcels
  set places = '{}'
  where queue_id = :queue_id and number = :number
)
delete from dibs.relay where queue_id = :queue_id and place = any (:places::bigint[]);
