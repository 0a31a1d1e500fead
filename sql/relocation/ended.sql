-- In home: a relocation has ended. No row comes back when another replica has taken it or moved it on.
update dibs.relocations
set
  phase = 'ended',
  state = :state,
  finished_at = now(),
  error = case when :state = 'done' then null else coalesce(:error, error) end,
  done = case when :state = 'done' then matched else done end
where id = :id and phase = :from_phase and attempt = :attempt
returning id;
