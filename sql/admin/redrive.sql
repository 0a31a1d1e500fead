-- Makes dead jobs ready again, or blocked in their groups, attempts afresh, each at the position beside its id; the ids
-- ascend (see ack.sql). One whose time is over is given all the time it needs.
-- The state is compared as a text, so that no index but the primary key seems to fit: in a table that was not analyzed
-- yet, each chunk read all that was dead.
-- One whose unique key another holds stays dead. OFFSET keeps that look a probe of an index. A key that is being taken
-- at this moment is not waited for: its transaction may be one that somebody keeps open.
with bounds as materialized (
  select set_config('lock_timeout', '50ms', true)
)
update dibs.jobs j
set
  state = (case when j.group_key is null then 'ready' else 'blocked' end)::dibs.job_state,
  position = ($3::bigint[])[width_bucket(j.id, $2::uuid[])],
  attempt = 0,
  run_at = now(),
  finished_at = null,
  expires_at = case when j.expires_at > now() then j.expires_at end
from bounds
where j.queue_id = $1
  and j.id = any ($2::uuid[])
  and j.id between ($2::uuid[])[1] and ($2::uuid[])[cardinality($2::uuid[])]
  and j.state::text = 'dead'
  and (
    j.unique_key is null
    or not exists (
      select from dibs.jobs holder
      where holder.queue_id = $1
        and holder.unique_key = j.unique_key
        and holder.state in ('scheduled', 'ready', 'blocked', 'leased')
      offset 0
    )
  )
returning j.id, j.state, j.group_key as "group";
