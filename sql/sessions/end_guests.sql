-- These sessions have ended in home, and their guests here end with them. It passes over those with which somebody claims at
-- this moment, as sessions/end.sql does. Returns the guests that had not ended yet, and whether they have now.
with due as materialized (
  select id
  from dibs.sessions
  where id = any (:sessions::uuid[]) and is_guest and not ended
  order by id
  for update skip locked
),
marked as (
  update dibs.sessions set ended = true where id = any (array(select id from due)) returning id
)
select s.id, m.id is not null as has_ended
from dibs.sessions s
left join marked m on m.id = s.id
where s.id = any (:sessions::uuid[]) and s.is_guest and not s.ended;
