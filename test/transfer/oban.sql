-- The tables that the migrations of Oban (2.23, version 14) amount to, as far as they concern jobs.
create type oban_job_state as enum (
  'available', 'suspended', 'scheduled', 'executing', 'retryable', 'completed', 'discarded', 'cancelled'
);
create table oban_jobs (
  id bigserial primary key,
  state oban_job_state not null default 'available',
  queue text not null default 'default' check (char_length(queue) between 1 and 127),
  worker text not null check (char_length(worker) between 1 and 127),
  args jsonb not null default '{}',
  errors jsonb[] not null default '{}',
  attempt integer not null default 0,
  max_attempts integer not null default 20 check (max_attempts > 0),
  inserted_at timestamp not null default timezone('UTC', now()),
  scheduled_at timestamp not null default timezone('UTC', now()),
  attempted_at timestamp,
  completed_at timestamp,
  attempted_by text[],
  discarded_at timestamp,
  priority integer not null default 0 check (priority >= 0),
  tags text[] default '{}',
  meta jsonb default '{}',
  cancelled_at timestamp,
  check (attempt between 0 and max_attempts)
);
comment on table oban_jobs is '14';
