-- Begins the next parcel to a queue, unless one is under way: with the oldest jobs, up to :most of them and about :most_bytes.
-- Nothing happens when no job waits. Numbers ascend, also after this database was set back in time: they go by the clock.
-- Which jobs a parcel has is committed before it is sent. So whoever sends it again sends the same ones.
with next as materialized (
  select array_agg(place order by place) as places
  from (
    select place, sum(bytes) over (order by place) - bytes as bytes_before
    from (
      select place, bytes
      from dibs.relay
      where queue_id = :queue_id
      order by queue_id, place
      limit (select :most::integer)
    ) as oldest
  ) as page
  where bytes_before < :most_bytes::integer
)
insert into dibs.relay_parcels as last (queue_id, number, places)
select :queue_id, (extract(epoch from clock_timestamp()) * 1000000)::bigint, places
from next
where places is not null
on conflict (queue_id) do update
set number = greatest(excluded.number, last.number + 1), places = excluded.places
where last.places = '{}';
