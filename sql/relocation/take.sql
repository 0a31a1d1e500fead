-- In home: takes the next relocation on which no replica works, for :seconds.
update dibs.relocations
set worked_until = now() + :seconds::double precision * interval '1 second'
where id = (
    select id
    from dibs.relocations
    where phase <> 'ended' and worked_until < now()
    order by id
    limit 1
    for update skip locked
  )
returning
  id, queue_id, queue, source, target, dry_run, phase, attempt, is_stopped, error;
