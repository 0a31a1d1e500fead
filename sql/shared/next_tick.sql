-- The time of the next tick of all schedules. A tick that was refused counts from its next try on.
least(
  (select min(next_run_at) from dibs.schedules where next_run_at is not null and retry_at is null),
  (
    select min(greatest(next_run_at, retry_at))
    from dibs.schedules
    where next_run_at is not null and retry_at is not null
  )
)
