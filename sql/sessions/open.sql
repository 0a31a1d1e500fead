-- Opens sessions, unless an owner has :most already. The first of those who ask get theirs.
with
-- include shared/session_replica.sql
,
asked as materialized (
  select id, connection, resume_seconds, owner, row_number() over (partition by owner order by n) as turn
  from unnest(
    :sessions::uuid[], :connections::uuid[], :resume_seconds::double precision[], :owners::text[]
  ) with ordinality as asked (id, connection, resume_seconds, owner, n)
),
-- A look at each owner. A look for each session would cost with the square of their number.
owners as materialized (
  select o.owner, has.sessions
  from (select distinct owner from asked) as o
  cross join lateral (
    select count(*) as sessions
    from (select from dibs.sessions s where s.owner is not distinct from o.owner limit :most) as own
  ) as has
)
insert into dibs.sessions (id, resume_seconds, owner, connection, replica)
select asked.id, asked.resume_seconds, asked.owner, asked.connection, :replica
from asked
join owners on owners.owner is not distinct from asked.owner
where owners.sessions + asked.turn <= :most::integer
returning id;
