-- Jobs that belong together, and what follows their end. See docs/decisions/0095-batches.md.
-- oldest: 24
alter table dibs.jobs add column batch_id uuid;
alter table dibs.relocating_jobs add column batch_id uuid;
-- Beside each of the jobs: its batch.
alter table dibs.idempotency_keys add column batches uuid[];

-- Which jobs of a batch are in a state. Only jobs of batches have an entry.
create index jobs_batch on dibs.jobs (batch_id, state, id) where batch_id is not null;

create table dibs.batches (
  id uuid not null,
  queue_id integer not null,
  name text,
  created_at timestamptz not null default now(),
  closed_at timestamptz,
  -- Its waiting jobs are cancelled from then on, also those that its leased jobs add.
  cancelled_at timestamptz,
  -- When all of its jobs were finished for the first time after it was closed.
  finished_at timestamptz,
  succeeded boolean not null default false,
  -- How many jobs have ended in each way, without those in dibs.batch_ends.
  completed bigint not null default 0,
  cancelled bigint not null default 0,
  dead bigint not null default 0,

  constraint batches_pkey primary key (id),
  constraint batches_queue foreign key (queue_id) references dibs.queues (id) on delete cascade,
  constraint batch_name check (char_length(name) between 1 and 256),
  constraint batch_finished check (closed_at is not null or finished_at is null),
  constraint batch_succeeded check (finished_at is not null or not succeeded)
);
create index batches_queue on dibs.batches (queue_id, id);
-- Batches of which jobs may still have to be cancelled.
create index batches_cancelled on dibs.batches (cancelled_at) where cancelled_at is not null and finished_at is null;
-- What has not ended is counted for the metrics.
create index batches_unfinished on dibs.batches (closed_at) where finished_at is null;
create index batches_finished on dibs.batches (finished_at) where finished_at is not null;

-- The jobs to enqueue at the end of a batch. A row goes when its job is enqueued, or cannot be any more.
create table dibs.batch_followers (
  batch_id uuid not null,
  -- At the success of the batch, or at any end.
  on_success boolean not null,
  queue text not null,
  delay_seconds double precision not null,
  run_at timestamptz,
  priority smallint not null,
  -- Null: the queue decides.
  max_attempts integer,
  backoff json,
  headers json not null,
  payload json not null,
  unique_key text,
  unique_for_seconds double precision,
  group_key text,
  fairness_key text,
  expires_in_seconds double precision,
  on_duplicate text,
  -- The batch that it belongs to itself. It counts there as unfinished.
  joins uuid,
  -- Set when it could not be enqueued in the commit that ended the batch, and is enqueued after it.
  due_at timestamptz,

  constraint batch_followers_pkey primary key (batch_id, on_success),
  constraint batch_followers_batch foreign key (batch_id) references dibs.batches (id) on delete cascade
);
create index batch_followers_joins on dibs.batch_followers (joins) where joins is not null;
create index batch_followers_due on dibs.batch_followers (due_at) where due_at is not null;

-- Jobs of batches that have ended (1), or come back (-1), since their numbers were added to dibs.batches. Written in the commit of each.
create table dibs.batch_ends (
  batch_id uuid not null,
  state dibs.job_state not null,
  change smallint not null,
  -- Its transaction looks at all batches of which it ends jobs, once, at its commit.
  looks boolean not null
);
create index batch_ends_batch on dibs.batch_ends (batch_id);

-- sql/functions make them anew, with their text.
create function dibs.note_batch_end() returns trigger language plpgsql as $$ begin return null; end; $$;
create function dibs.look_at_batches() returns trigger language plpgsql as $$ begin return null; end; $$;
create function dibs.note_lost_follower() returns trigger language plpgsql as $$ begin return null; end; $$;

create trigger jobs_batch_end
  after update of state on dibs.jobs
  for each row
  when (
    new.batch_id is not null
    and old.state <> new.state
    and (new.state in ('completed', 'cancelled', 'dead') or old.state in ('completed', 'cancelled', 'dead'))
  )
  execute function dibs.note_batch_end();

create trigger jobs_batch_delete
  after delete on dibs.jobs
  for each row
  when (old.batch_id is not null and old.state <> 'completed')
  execute function dibs.note_batch_end();

create constraint trigger batch_ends_look
  after insert on dibs.batch_ends
  deferrable initially deferred
  for each row
  when (new.looks)
  execute function dibs.look_at_batches();

create trigger batch_followers_lost
  after delete on dibs.batch_followers
  for each row
  when (old.joins is not null)
  execute function dibs.note_lost_follower();

drop function if exists dibs.insert_unique(integer, dibs.new_job[], text[]);
drop function if exists dibs.put_in(dibs.queues, dibs.new_job, boolean);
