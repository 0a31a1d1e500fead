-- The places of these queues. Those that have none get one: functions/place.sql. No row comes back where home is another server than
-- :learned_at, or was restored since: others may have queues that it has forgotten (src/databases/learning.ts).
select place.queue_id, place.name, place.database, place.moving_to
from dibs.positions as arrivals
cross join lateral dibs.place(
  case
    when
      -- include shared/server.sql
      = :learned_at::text
    then :names::text[]
  end,
  :wish::text,
  :away::text[]
) as place;
