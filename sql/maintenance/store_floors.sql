-- Stores scan floors of some queues, where they are higher than the stored ones. The rows are locked in their order, so
-- that two replicas cannot deadlock.
-- It stores nothing in a database that the replica does not know yet: on another :server, or where the order ends before
-- :newest or before a floor. That one may have been restored a moment ago, and has stored floors of its own.
insert into dibs.scan_floors as stored (queue_id, rank, position)
select queue_id, rank, position
from unnest(:queue_ids::integer[], :ranks::smallint[], :positions::bigint[]) as new (queue_id, rank, position)
where exists (select from dibs.queues where id = new.queue_id)
  and exists (
    select
    from dibs.positions as arrivals
    where arrivals.last_value >= greatest(:newest::bigint, new.position)
      and
      -- include shared/server.sql
      = :server
  )
order by queue_id, rank
on conflict (queue_id, rank) do update
set position = excluded.position
where stored.position < excluded.position;
