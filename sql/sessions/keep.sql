-- These connections live, and hold their sessions, also if the replica was taken for dead. Returns those that have lost
-- theirs: another connection has resumed it (`is_there`), or it has ended.
with
-- include shared/session_replica.sql
,
own as materialized (
  select id, connection from unnest(:sessions::uuid[], :connections::uuid[]) as own (id, connection)
),
kept as (
  update dibs.sessions s
  set replica = :replica, ends_at = null
  from own
  where s.id = own.id and s.connection = own.connection and s.replica is distinct from :replica and not s.ended
)
select own.connection, coalesce(not s.ended, false) as is_there
from own
left join dibs.sessions s on s.id = own.id
where s.connection is distinct from own.connection or s.ended;
