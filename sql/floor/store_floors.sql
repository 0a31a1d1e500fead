-- Stores scan floors of some queues where they are higher than the stored ones. :has_keys says for each whether it is
-- the floor of the jobs with fairness keys, or of the others. The rows are locked in their order, so that two replicas
-- cannot deadlock.
-- It stores nothing in a database that the replica does not know yet: on another :server, or where the order ends
-- before :newest or before a floor. That database may have been restored a moment ago, and has stored floors of its
-- own.
insert into dibs.scan_floors as stored (queue_id, rank, position, fair_position)
select
  queue_id,
  rank,
  coalesce(max(position) filter (where not has_keys), -1),
  coalesce(max(position) filter (where has_keys), -1)
from unnest(:queue_ids::integer[], :ranks::smallint[], :positions::bigint[], :has_keys::boolean[])
  as new (queue_id, rank, position, has_keys)
where exists (select from dibs.queues where id = new.queue_id)
  and exists (
    select
    from dibs.positions as arrivals
    where arrivals.last_value >= greatest(:newest::bigint, new.position)
      and
      -- include shared/server.sql
      = :server
  )
group by queue_id, rank
order by queue_id, rank
on conflict (queue_id, rank) do update
set
  position = greatest(stored.position, excluded.position),
  fair_position = greatest(stored.fair_position, excluded.fair_position)
where stored.position < excluded.position or stored.fair_position < excluded.fair_position;
