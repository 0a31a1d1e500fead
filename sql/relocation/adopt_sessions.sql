-- A queue has come here with its leases. Their sessions become guests, so that the leases end with them.
-- :ended: this is home. Of a session that home does not have any more, the leases end at once.
with put as (
  insert into dibs.sessions (id, is_guest, resume_seconds, connection, ended)
  select distinct session_id, true, 0, session_id, :ended::boolean
  from dibs.jobs
  where queue_id = :queue_id and session_id is not null and dibs.by_index(state = 'leased')
  order by session_id
  on conflict (id) do nothing
  returning id
)
select pg_notify('dibs', 'sessions sql') from put limit 1;
