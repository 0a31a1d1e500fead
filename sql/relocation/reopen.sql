-- In home: goes on with a relocation that home has forgotten, or had ended before. No row comes back when one of the queue is under
-- way. :attempt: no copy with a higher one was made.
insert into dibs.relocations as known (id, queue_id, queue, source, target, dry_run, phase, attempt)
select :relocation, :queue_id, :queue, :source, :target, false, :phase, :attempt
where not exists (select from dibs.relocations where queue_id = :queue_id and phase <> 'ended' and not dry_run)
on conflict (id) do update
set
  state = 'running',
  phase = excluded.phase,
  attempt = greatest(known.attempt, excluded.attempt),
  is_stopped = false,
  error = null,
  finished_at = null
where known.phase = 'ended'
returning id;
