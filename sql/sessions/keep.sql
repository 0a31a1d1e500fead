-- These connections live, and hold their sessions, also if the replica was taken for dead. Returns those that have lost
-- theirs: another connection has resumed it (`is_there`), or it has ended.
with
-- include shared/session_replica.sql
,
own as materialized (
  select id, connection from unnest(:sessions::uuid[], :connections::uuid[]) as own (id, connection)
),
locked as materialized (
  select s.id
  from dibs.sessions s
  join own on own.id = s.id and own.connection = s.connection
  where s.replica is distinct from :replica and not s.ended and exists (select from session_replica)
  order by s.id
  for no key update of s
),
kept as (
  update dibs.sessions s
  set replica = :replica, ends_at = null
  from own
  where s.id = own.id and s.connection = own.connection and s.replica is distinct from :replica and not s.ended
    and s.id = any (array(select id from locked))
)
select own.connection, coalesce(not s.ended, false) as is_there
from own
left join dibs.sessions s on s.id = own.id
where s.connection is distinct from own.connection or s.ended;
