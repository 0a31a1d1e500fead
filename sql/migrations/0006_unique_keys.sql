-- Uniqueness: see docs/decisions/0015-uniqueness.md.

-- At most one unfinished job for each queue and key. Whatever finishes a job takes it out, and so frees its key.
create unique index jobs_unique on dibs.jobs (queue_id, unique_key)
  where unique_key is not null and state in ('scheduled', 'ready', 'blocked', 'leased');

-- Keys that stay taken for a while after the enqueue, finished or not; and the job that took each, as it was enqueued,
-- to be answered when it is gone.
create table dibs.unique_windows (
  queue_id integer not null,
  unique_key text not null,
  until timestamptz not null,
  job_id uuid not null,
  run_at timestamptz not null,
  created_at timestamptz not null,
  priority smallint not null,
  max_attempts integer not null,
  group_key text,
  fairness_key text,
  headers json not null,

  primary key (queue_id, unique_key)
);

create index unique_windows_until on dibs.unique_windows (until);

-- From what text each function of sql/functions was made last.
create table dibs.functions (
  name text primary key,
  checksum text not null
);
