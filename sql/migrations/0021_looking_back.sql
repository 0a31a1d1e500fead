-- Who ended an attempt or changed a job, and when the lease of the attempt began. See docs/decisions/0031-history.md.
-- A replica of an older Dibs writes neither.
alter table dibs.jobs add column leased_at timestamptz;
alter table dibs.history add column leased_at timestamptz, add column actor text;
-- Who started it.
alter table dibs.operations add column actor text;

-- A filter of the audit finds its rows by these, however few they are among a million.
create index audit_actor on dibs.audit (actor, id);
create index audit_verb on dibs.audit (verb, id);
create index audit_queue on dibs.audit (queue, id) where queue is not null;

-- The last day of the busiest queues, minute by minute, for charts. See docs/decisions/0039-samples.md.
-- Queue 0 stands for all queues together. What happens is a running total: a minute is the difference of two rows.
create table dibs.samples (
  minute timestamptz not null,
  queue_id integer not null,
  -- Null, where the queue was not counted lately.
  ready bigint,
  waiting bigint,
  leased bigint,
  dead bigint,
  oldest_ready_seconds double precision,
  -- Null for a queue without a row in dibs.totals.
  enqueued bigint,
  acked bigint,
  failed bigint,
  died bigint,

  constraint samples_pkey primary key (minute, queue_id)
);
