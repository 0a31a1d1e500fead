-- Gives a session to another connection. The one that has it, if there is one, has lost it.
with
-- include shared/session_replica.sql
update dibs.sessions
set
  resume_seconds = coalesce(:resume_seconds, resume_seconds),
  connection = :connection,
  replica = :replica,
  ends_at = null
where id = :session and owner is not distinct from :owner and not ended
returning resume_seconds;
