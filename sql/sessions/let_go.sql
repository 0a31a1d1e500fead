-- These connections have ended. Their sessions end, unless others resume them in time.
with gone as materialized (
  select id, connection from unnest(:sessions::uuid[], :connections::uuid[]) as gone (id, connection)
),
-- In the order of their ids, as all that lock several: two replicas must not wait for each other.
locked as materialized (
  select s.id
  from dibs.sessions s
  join gone on gone.id = s.id and gone.connection = s.connection
  where s.replica is not null
  order by s.id
  for no key update of s
)
update dibs.sessions s
set replica = null, ends_at = now() + s.resume_seconds * interval '1 second'
from gone
where s.id = gone.id and s.connection = gone.connection and s.replica is not null
  and s.id = any (array(select id from locked));
