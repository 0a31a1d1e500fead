-- The replica :replica holds connections of sessions, from now on for as long as it renews this.
session_replica as (
  insert into dibs.session_replicas as r (id, alive_until)
  values (:replica, now() + interval '2.5 seconds')
  on conflict (id) do update set alive_until = greatest(r.alive_until, excluded.alive_until)
  returning id
)
