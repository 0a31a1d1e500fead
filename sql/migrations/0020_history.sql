-- What happened to jobs: attempts that ended otherwise than by an ack, and what somebody did to a job. See
-- docs/decisions/0031-history.md.
create table dibs.history (
  id bigint generated always as identity,
  queue_id integer not null,
  job_id uuid not null,
  at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null default now() + interval '30 days',
  event text not null,
  -- What the job became.
  state dibs.job_state not null,
  attempt integer not null,
  deliveries integer not null,
  worker text,
  error text,
  run_at timestamptz,

  constraint history_pkey primary key (id)
);
create index history_job on dibs.history (job_id, id);
create index history_expiry on dibs.history (expires_at);

-- sql/functions/note_history.sql makes it anew, with its text.
create function dibs.note_history() returns trigger language plpgsql as $$ begin return null; end; $$;

-- A claim and an extension make a job leased, and an ack deletes or completes it: none of these calls the function.
create trigger jobs_history after update on dibs.jobs
  for each row
  when (
    old.queue_id <> new.queue_id
    or new.cancel_requested and not old.cancel_requested and new.state = 'leased'
    or new.state <> 'leased'
      and new.state <> 'completed'
      and (
        old.state = 'leased'
        or (old.state = 'dead') <> (new.state = 'dead')
        or new.state = 'cancelled' and old.state <> 'cancelled'
        or old.lease_token is not null and new.lease_token is null
        or new.attempt < old.attempt
      )
  )
  execute function dibs.note_history();
