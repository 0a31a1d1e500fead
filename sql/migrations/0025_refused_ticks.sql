-- A schedule whose job is refused rests by itself, and says why. See docs/decisions/0012-schedules.md.
-- oldest: 24
alter table dibs.schedules
  -- How often its tick was refused since the last one that was taken.
  add column refusals integer not null default 0,
  add column last_error text,
  -- Its tick is tried again from then on.
  add column retry_at timestamptz,
  add constraint schedule_refused check ((refusals = 0) = (last_error is null) and (refusals = 0) = (retry_at is null));

drop index dibs.schedules_next;
create index schedules_next on dibs.schedules (next_run_at) where next_run_at is not null and retry_at is null;
create index schedules_retry on dibs.schedules (greatest(next_run_at, retry_at))
  where next_run_at is not null and retry_at is not null;
