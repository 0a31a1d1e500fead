-- The end of the order of arrival, and the marks that became visible since the snapshot :since (null: none). Marks
-- above the position :highest are left out: no scan floor is there.
-- A mark that :since does not show is from a transaction that was open then, or began later. Only those are read: an
-- index keeps the entries of deleted marks as long as any transaction is old, so reading all marks could take long.
with seen as (
  select queue_id, first, last
  from dibs.arrival_marks
  where xid >= pg_snapshot_xmax(:since::pg_snapshot) and first <= :highest
  union all
  select mark.*
  from pg_snapshot_xip(:since::pg_snapshot) as open (xid)
  cross join lateral (
    select queue_id, first, last
    from dibs.arrival_marks
    where xid = open.xid and first <= :highest
    order by xid
    offset 0
  ) as mark
)
select
  arrivals.last_value,
  -- include shared/server.sql
  as server,
  pg_current_snapshot()::text as snapshot,
  seen.queue_id, seen.first, seen.last
from dibs.positions as arrivals
left join seen on true;
