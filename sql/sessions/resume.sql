-- Gives sessions to other connections. Those that have them, if there are any, have lost them. Each session is named once.
with
-- include shared/session_replica.sql
,
asked as materialized (
  select id, connection, owner, resume_seconds
  from unnest(
    :sessions::uuid[], :connections::uuid[], :owners::text[], :resume_seconds::double precision[]
  ) as asked (id, connection, owner, resume_seconds)
),
-- In the order of their ids, as all that lock several: two replicas must not wait for each other.
locked as materialized (
  select s.id
  from dibs.sessions s
  join asked on asked.id = s.id and asked.owner is not distinct from s.owner
  where not s.ended and exists (select from session_replica)
  order by s.id
  for no key update of s
)
update dibs.sessions s
set
  resume_seconds = coalesce(asked.resume_seconds, s.resume_seconds),
  connection = asked.connection,
  replica = :replica,
  ends_at = null
from asked
where s.id = asked.id and s.id = any (array(select id from locked)) and not s.ended
returning s.id, s.resume_seconds;
