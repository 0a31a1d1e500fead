-- Makes these sessions guests of this database, if they are not. Whoever sends it looks afterwards whether home has them:
-- then a session that ends there later finds its guest here. Returns those whose guests are ending.
-- The ids ascend: two replicas must not wait for each other.
with put as (
  insert into dibs.sessions (id, is_guest, resume_seconds, connection)
  select id, true, 0, id from unnest(:sessions::uuid[]) as asked (id)
  on conflict (id) do nothing
  returning id
),
-- Also a replica that never claims here has to look for guests, should this one be killed.
told as (
  select pg_notify('dibs', 'sessions sql') from put limit 1
)
select id from dibs.sessions where id = any (:sessions::uuid[]) and ended and (select count(*) from told) >= 0;
