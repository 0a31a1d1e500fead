-- Schedules: each puts one job into its queue at every tick of its cron. See docs/decisions/0012-schedules.md.
create table dibs.schedules (
  name text primary key,
  cron text not null,
  timezone text not null,
  paused boolean not null,
  -- What POST /jobs takes, but for its payload, which stands beside it: the text that was sent, null when none was.
  job json not null,
  payload json,
  -- The tick that is due next; none while paused, or when the cron has no more.
  next_run_at timestamptz,
  last_run_at timestamptz,
  -- Another one after each change, ticks included, so that whoever has read the schedule can tell.
  revision uuid not null,

  constraint schedule_name check (name ~ '^[A-Za-z0-9._:-]{1,128}$'),
  constraint schedule_paused check (not paused or next_run_at is null)
);

create index schedules_next on dibs.schedules (next_run_at) where next_run_at is not null;
