-- Makes scheduled jobs of one queue ready when their time has come, at most one for each position in $2.
update dibs.jobs j
set
  state = 'ready',
  position = ($2::bigint[])[arrived.place]
from unnest(array(
    select id
    from dibs.jobs
    where queue_id = $1 and state = 'scheduled' 
      and run_at > $3::timestamptz and run_at <= now()
    order by run_at, position
    limit cardinality($2::bigint[])
    for update skip locked
  )) with ordinality as arrived (id, place)
where j.queue_id = $1 and j.id = arrived.id
returning j.id, j.state;
