-- The replica :replica lives. `renewed` is false when the others have taken it for dead. `held` is how many sessions its
-- connections hold. The rest is the look of the duty, which needs no statement of its own then.
with renewed as (
  update dibs.session_replicas
  set alive_until = now() + interval '2.5 seconds'
  where id = :replica and alive_until > now()
  returning id
)
select
  exists (select from renewed) as renewed,
  (select count(*)::integer from dibs.sessions where replica = :replica) as held,
  -- include shared/session_look.sql
;
