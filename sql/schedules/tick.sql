-- Takes the due tick of a schedule, whose job is inserted in the same transaction. No row comes back when another
-- replica takes it at this moment, or when the schedule has changed since it was read.
update dibs.schedules
set
  -- Of several missed ticks, the last one.
  last_run_at = greatest(next_run_at, :last_run_at::timestamptz),
  next_run_at = :next_run_at::timestamptz,
  revision = :new_revision::uuid
where name = (
  select name from dibs.schedules
  where name = :name and revision = :revision::uuid
  for update skip locked
)
returning name;
