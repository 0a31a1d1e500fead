-- In home: a relocation has ended.
update dibs.relocations
set
  phase = 'ended',
  state = :state,
  finished_at = now(),
  error = coalesce(:error, error),
  done = case when :state = 'done' then matched else done end
where id = :id and phase = :from_phase;
