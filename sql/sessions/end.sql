-- Ends sessions that nobody has resumed in time. It passes over those with which somebody claims at this moment
-- (claim/hold_sessions.sql): the next look finds them. So all leases of a session are there when it has ended.
-- Leaves alone those that were to end before :from (src/maintenance/rescueGrace.ts).
with due as materialized (
  select id
  from dibs.sessions
  where ends_at <= now() and ends_at >= :from::timestamptz and not ended
  order by ends_at
  limit 1000
  for update skip locked
)
update dibs.sessions
set ended = true
where id = any (array(select id from due))
returning id;
