-- These queues are gone. Those for which nothing waits here are forgotten. What waits is dropped first: see drop.sql.
delete from dibs.relay_parcels p
where queue_id = any (:queue_ids::integer[])
  and (select r.place from dibs.relay r where r.queue_id = p.queue_id order by r.queue_id, r.place limit 1) is null;
