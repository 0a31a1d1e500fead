-- These connections have ended. Their sessions end, unless others resume them in time.
update dibs.sessions s
set replica = null, ends_at = now() + s.resume_seconds * interval '1 second'
from unnest(:sessions::uuid[], :connections::uuid[]) as gone (id, connection)
where s.id = gone.id and s.connection = gone.connection and s.replica is not null;
