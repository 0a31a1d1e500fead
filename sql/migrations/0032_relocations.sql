-- Queues that go to another database: docs/decisions/0092-relocation.md. With one database, all of this is empty, and nothing reads
-- it.
-- oldest: 24

-- The database that the queue goes to. Until it is null again, calls for the queue wait.
alter table dibs.placements add column moving_to text;

-- The relocations of this Dibs. Only `home` has rows.
create table dibs.relocations (
  id uuid not null,
  queue_id integer not null,
  queue text not null,
  source text not null,
  target text not null,
  dry_run boolean not null,
  state text not null default 'running',
  -- What is done now: see src/databases/relocation/work.ts.
  phase text not null default 'counting',
  -- The number of the copy that is made. It ascends.
  attempt integer not null default 0,
  is_stopped boolean not null default false,
  error text,
  matched bigint not null default 0,
  done bigint not null default 0,
  -- For how long calls will wait, as far as that was known before.
  hold_seconds double precision,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  -- Who started it. Null: nobody needs a key.
  actor text,
  -- A replica works on it until then, or longer.
  worked_until timestamptz not null default '-infinity',

  constraint relocations_pkey primary key (id),
  constraint relocation_state check (state in ('running', 'done', 'cancelled', 'failed')),
  constraint relocation_phase check (phase in ('counting', 'leaving', 'arriving', 'cleaning', 'returning', 'ended')),
  constraint relocation_finished check ((state = 'running') = (finished_at is null))
);
-- A queue has one at a time.
create unique index relocations_open on dibs.relocations (queue_id) where phase <> 'ended' and not dry_run;
create index relocations_work on dibs.relocations (id) where phase <> 'ended';

-- In the database that a queue leaves, and in the one where it arrives: what became of it there.
create table dibs.relocating_queues (
  queue_id integer not null,
  relocation uuid not null,
  -- `leaving`, `returning`: here was its row, and its jobs are in dibs.relocating_jobs. `arrived`: here it is, whole. `refused`: the
  -- copy `attempt`, and those before, cannot arrive here any more.
  role text not null,
  attempt integer not null default 0,
  -- Its row of dibs.queues, and its rows of dibs.relay_arrivals.
  queue json,
  arrivals json,

  constraint relocating_queues_pkey primary key (queue_id),
  constraint relocating_role check (role in ('leaving', 'returning', 'arrived', 'refused'))
);

-- The jobs of queues that leave this database. Nobody can claim or settle them here. It has the columns of dibs.jobs.
create table dibs.relocating_jobs (like dibs.jobs);
alter table dibs.relocating_jobs add constraint relocating_jobs_pkey primary key (queue_id, id);
alter table dibs.relocating_jobs set (vacuum_truncate = false);
