-- Acts on any number of jobs by filter, in the background (src/admin/operations.ts). See docs/decisions/0030-operations.md.
create table dibs.operations (
  -- Ascends with time.
  id uuid not null,
  verb text not null,
  queue_id integer not null,
  queue text not null,
  -- Where a move goes.
  to_id integer,
  to_queue text,
  -- The filter.
  states text[] not null,
  group_key text,
  fairness_key text,
  worker text,
  error_contains text,
  created_after timestamptz,
  created_before timestamptz,
  dry_run boolean not null,
  state text not null default 'running',
  error text,
  -- The moment of the call, as sql/admin/call_point.sql tells it.
  last_position bigint not null,
  open_transactions text[] not null,
  next_transaction bigint not null,
  -- How far it is. First it counts, and then it works: through the jobs of one state after the other, by id.
  counted boolean not null default false,
  step smallint not null default 0,
  after_id uuid not null default '00000000-0000-0000-0000-000000000000',
  matched bigint not null default 0,
  done bigint not null default 0,
  skipped bigint not null default 0,
  created_at timestamptz not null default now(),
  -- Operations take turns: the one that was worked on longest ago is next.
  worked_at timestamptz not null default now(),
  finished_at timestamptz,

  constraint operations_pkey primary key (id),
  constraint operation_verb check (verb in ('cancel', 'retry', 'delete', 'move')),
  constraint operation_target check ((verb = 'move') = (to_id is not null) and (to_id is null) = (to_queue is null)),
  constraint operation_state check (state in ('running', 'done', 'cancelled', 'failed')),
  constraint operation_finished check ((state = 'running') = (finished_at is null))
) with (fillfactor = 50, vacuum_truncate = false);
create index operations_running on dibs.operations (id) where state = 'running';

-- The leases that an operation is to cancel: those that matched at its call. A worker that extends one changes its row, and
-- the lease stays the same.
create table dibs.operation_leases (
  operation_id uuid not null references dibs.operations (id) on delete cascade,
  job_id uuid not null,
  lease_token uuid not null,

  constraint operation_leases_pkey primary key (operation_id, job_id)
);
