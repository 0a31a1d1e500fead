-- Takes the due tick of a schedule. Its job is inserted in the same transaction. No row comes back when another replica
-- takes the tick at this moment, or when the schedule has changed since it was read.
update dibs.schedules
set
  -- When several ticks were missed: the last one of them.
  last_run_at = greatest(next_run_at, :last_run_at::timestamptz),
  next_run_at = :next_run_at::timestamptz,
  revision = :new_revision::uuid,
  refusals = 0,
  last_error = null,
  retry_at = null
where name = (
  select name from dibs.schedules
  where name = :name and revision = :revision::uuid
  for update skip locked
)
returning name;
