-- Makes waiting jobs of one queue dead whose time is over. Leaves a job alone that is being claimed at this moment.
-- The state is compared as a text, so that no index but the primary key seems to fit.
-- The ids ascend: see shared/batch_by_id.sql.
with expired as materialized (
  select j.id
  from dibs.jobs j
  where
    -- include shared/batch_by_id.sql
    and j.state::text in ('scheduled', 'ready', 'blocked')
    and j.expires_at <= now()
  for update skip locked
)
update dibs.jobs j
set
  state = 'dead',
  is_head = false,
  finished_at = now(),
  last_error = 'expired'
where j.queue_id = :queue_id
  and j.id = any (array(select id from expired))
  and j.id between (:ids::uuid[])[1] and (:ids::uuid[])[cardinality(:ids::uuid[])]
returning j.id, j.state, j.group_key as "group", j.awaited_until > now() as awaited;
