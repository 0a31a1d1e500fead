-- Runs before a claiming statement, in the same transaction. It keeps these sessions from ending until the leases are there,
-- and fails (isSessionEnded) if one of them has ended.
with held as materialized (
  select id
  from dibs.sessions
  where id = any (:sessions::uuid[]) and not ended
  order by id
  for key share
)
select case when (select count(*) from held) < cardinality(:sessions::uuid[]) then dibs.refuse_session() end as refused;
