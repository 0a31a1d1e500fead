-- Opens a session, unless its owner has :most already.
with
-- include shared/session_replica.sql
insert into dibs.sessions (id, resume_seconds, owner, connection, replica)
select :session, :resume_seconds, :owner, :connection, :replica
where (select count(*) from (select from dibs.sessions where owner is not distinct from :owner limit :most) as own)
  < :most::integer
returning id;
