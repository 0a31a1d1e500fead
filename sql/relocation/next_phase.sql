-- In home: a relocation goes from one phase to another. No row comes back when another replica has taken it or moved it on, or
-- when it is asked to stop and :unless_stopped is given.
update dibs.relocations
set
  phase = :to_phase,
  attempt = attempt + case when phase = 'arriving' and :to_phase = 'leaving' then 1 else 0 end,
  error = coalesce(:error, error)
where id = :id
  and phase = :from_phase
  and attempt = :attempt
  and not (is_stopped and :unless_stopped::boolean)
returning attempt;
