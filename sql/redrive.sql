-- Makes dead jobs ready again, attempts afresh, in the order given.
update dibs.jobs j
set state = 'ready', position = again.position, attempt = 0, run_at = now(), finished_at = null
from unnest($2::uuid[], $3::bigint[]) as again (id, position)
where j.queue_id = $1 and j.id = again.id and j.state = 'dead'
returning j.id;
