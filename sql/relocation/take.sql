-- In home: takes the next relocation on which no replica works, for :seconds: one between :databases, those that this replica
-- has. Callers take turns: :served has those that this replica has worked for, the last one last. Of a caller, it takes the one that was
-- left longest ago. Whoever had it before has another `attempt`, and changes nothing any more.
update dibs.relocations
set worked_until = now() + :seconds::double precision * interval '1 second', attempt = attempt + 1
where id = (
    select id
    from dibs.relocations
    where phase <> 'ended' and worked_until < now()
      and source = any (:databases::text[]) and target = any (:databases::text[])
    order by coalesce(array_position(:served::text[], coalesce(actor, '')), 0), worked_until, id
    limit 1
    for update skip locked
  )
returning
  id, queue_id, queue, source, target, dry_run, phase, attempt, is_stopped, error, actor;
