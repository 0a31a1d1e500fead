-- In home: the jobs of a relocation are counted. A dry run has ended then. No row comes back when another replica has
-- taken it or moved it on.
update dibs.relocations
set
  matched = :matched::bigint,
  hold_seconds = :hold_seconds,
  phase = case when dry_run then 'ended' else phase end,
  state = case when dry_run then 'done' else state end,
  finished_at = case when dry_run then now() end
where id = :id and phase = 'counting' and attempt = :attempt
returning id;
