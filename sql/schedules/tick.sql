-- Takes the due tick of a schedule, whose job is inserted in the same transaction. No row comes back when another
-- replica takes it at this moment, or when the schedule has changed since it was read.
update dibs.schedules
set
  -- Of several missed ticks, the last one.
  last_run_at = greatest(next_run_at, $3::timestamptz),
  next_run_at = $4::timestamptz,
  revision = $5::uuid
where name = (
  select name from dibs.schedules
  where name = $1 and revision = $2::uuid
  for update skip locked
)
returning name;
