-- Queues. An id is never used twice: it stands inside the ids of the queue's jobs (src/ids.ts), in 24 bits.
create sequence dibs.queue_ids maxvalue 16777215;

create table dibs.queues (
  id integer primary key default nextval('dibs.queue_ids'),
  name text not null unique,
  paused boolean not null default false,
  lease_seconds double precision not null default 30,
  max_attempts integer not null default 5,
  backoff json not null
    default '{"kind":"exponential","base_seconds":1,"max_seconds":3600,"jitter":0.2}',
  retention_seconds double precision not null default 0,
  dead_retention_seconds double precision not null default 1209600,
  created_at timestamptz not null default now(),

  constraint queue_name check (name ~ '^[A-Za-z0-9._:-]{1,128}$'),
  constraint queue_lease check (lease_seconds between 0.1 and 43200),
  constraint queue_attempts check (max_attempts between 1 and 1000),
  constraint queue_retention check (retention_seconds between 0 and 31622400),
  constraint queue_dead_retention check (dead_retention_seconds between 0 and 31622400)
);

-- Jobs of all queues. The lifecycle is drawn in docs/lifecycle.md; the constraints below hold it.
create type dibs.job_state as enum
  ('scheduled', 'ready', 'blocked', 'leased', 'completed', 'cancelled', 'dead');

create sequence dibs.positions;

create table dibs.jobs (
  -- No foreign key: it would look its queue up once for each row. enqueue.sql locks it once for each statement.
  queue_id integer not null,
  state dibs.job_state not null,
  id uuid not null,
  -- The place in the order of arrival; a job that comes back gets a new one.
  position bigint not null default nextval('dibs.positions'),
  -- When the job becomes, or became, ready.
  run_at timestamptz not null,
  created_at timestamptz not null default now(),
  lease_expires_at timestamptz,
  finished_at timestamptz,
  -- Stays after an expiry, so that a late ack still counts while nobody else has the job.
  lease_token uuid,
  attempt integer not null default 0,
  max_attempts integer not null,
  deliveries integer not null default 0,
  payload_bytes integer not null,
  priority smallint not null,
  cancel_requested boolean not null default false,
  worker text,
  last_error text,
  backoff json,
  headers json not null,
  progress json,
  result json,
  -- json keeps the text as it was sent; jsonb would not.
  payload json not null,

  primary key (queue_id, id),
  constraint job_leased check
    ((state = 'leased') = (lease_expires_at is not null) and (state <> 'leased' or lease_token is not null)),
  constraint job_finished check
    ((state in ('completed', 'cancelled', 'dead')) = (finished_at is not null)),
  constraint job_attempts check
    (attempt between 0 and max_attempts and max_attempts between 1 and 1000 and deliveries >= attempt),
  constraint job_priority check (priority between -100 and 100),
  constraint job_cancelling check (not cancel_requested or state in ('leased', 'completed', 'cancelled'))
);

-- What a claim scans, term by term its ORDER BY; only what can be claimed stands in it. The priority is negated, not
-- descending, so that a scan can start at any (priority, position) by a row comparison (src/floor.ts).
create index jobs_ready on dibs.jobs (queue_id, (-priority), position) where state = 'ready';

-- What the sweeper scans: time first, so that it finds what is due in any of thousands of queues at once.
create index jobs_leased on dibs.jobs (lease_expires_at, queue_id) where state = 'leased';
create index jobs_scheduled on dibs.jobs (run_at, queue_id) where state = 'scheduled';

-- Retention and redrive go from the oldest on; lists go by id. Neither is on the path of a job that succeeds.
create index jobs_finished on dibs.jobs (queue_id, state, finished_at, id)
  where state in ('completed', 'cancelled', 'dead');
create index jobs_by_state on dibs.jobs (queue_id, state, id)
  where state in ('scheduled', 'blocked', 'completed', 'cancelled', 'dead');

-- Seconds until the next attempt after the given one failed. jitter_share, 0 to 1, is drawn by the caller:
-- the delay is shortened by that share of the policy's jitter.
create function dibs.backoff_seconds(backoff json, attempt integer, jitter_share double precision)
returns double precision
language sql immutable parallel safe
return
  least(
    (backoff->>'max_seconds')::double precision,
    (backoff->>'base_seconds')::double precision * case backoff->>'kind'
      when 'exponential' then power(2::double precision, least(greatest(attempt, 1) - 1, 60))
      when 'linear' then greatest(attempt, 1)
      else 1
    end
  ) * (1 - (backoff->>'jitter')::double precision * jitter_share);
