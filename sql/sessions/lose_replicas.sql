-- Replicas that have not renewed their rows have ended, and with them the connections of their sessions.
-- Leaves alone what was so before :from (src/maintenance/rescueGrace.ts).
-- While no replica was there to look, nobody could resume a session: its time begins with this look.
with dead as (
  delete from dibs.session_replicas
  where alive_until <= now() and alive_until >= :from::timestamptz
  returning id, alive_until
),
-- In the order of their ids, as all that lock several: two replicas must not wait for each other.
locked as materialized (
  select s.id
  from dibs.sessions s
  join dead on dead.id = s.replica
  order by s.id
  for no key update of s
)
update dibs.sessions s
set
  replica = null,
  ends_at = greatest(dead.alive_until, now() - interval '1 second') + s.resume_seconds * interval '1 second'
from dead
where s.replica = dead.id and s.id = any (array(select id from locked));
