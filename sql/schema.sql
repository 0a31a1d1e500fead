-- Generated from sql/migrations by "npm run generate", for review: what the migrations amount to, all in one
-- place. It is never run.

-- types

create type dibs.job_state as enum ('scheduled', 'ready', 'blocked', 'leased', 'completed', 'cancelled', 'dead');

-- sequences

create sequence dibs.positions as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807 cache 1;

create sequence dibs.queue_ids as bigint start 1 increment 1 minvalue 1 maxvalue 16777215 cache 1;

-- functions

CREATE OR REPLACE FUNCTION dibs.backoff_seconds(backoff json, attempt integer, jitter_share double precision)
 RETURNS double precision
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (LEAST(((backoff ->> 'max_seconds'::text))::double precision, (((backoff ->> 'base_seconds'::text))::double precision * CASE (backoff ->> 'kind'::text) WHEN 'exponential'::text THEN power((2)::double precision, (LEAST((GREATEST(attempt, 1) - 1), 60))::double precision) WHEN 'linear'::text THEN (GREATEST(attempt, 1))::double precision ELSE (1)::double precision END)) * ((1)::double precision - (((backoff ->> 'jitter'::text))::double precision * jitter_share)));

CREATE OR REPLACE FUNCTION dibs.room(queue_id integer)
 RETURNS integer
 LANGUAGE sql
 STABLE
AS $function$
  select greatest(0, q.max_ready - ready.n - keyed.n - blocked.n)
  from dibs.queues q
  cross join lateral (
    select count(*)::integer as n
    from (
      select
      from dibs.jobs j
      where j.queue_id = room.queue_id
        and j.state = 'ready'
        and j.fairness_key is null
        and j.position between (select 0) and (select 9223372036854775807)
      limit q.max_ready
    ) as found
  ) as ready
  cross join lateral (
    select count(*)::integer as n
    from (
      select
      from dibs.jobs j
      where j.queue_id = room.queue_id and j.state = 'ready' and j.fairness_key is not null
      order by j.queue_id, -j.priority, j.fairness_key, j.position
      limit q.max_ready
    ) as found
  ) as keyed
  cross join lateral (
    select count(*)::integer as n
    from (
      select
      from dibs.jobs j
      where j.queue_id = room.queue_id and j.state = 'blocked'
      order by j.queue_id, j.state, j.id
      limit q.max_ready
    ) as found
  ) as blocked
  where q.id = room.queue_id and q.max_ready is not null
$function$;

-- tables

create table dibs.claimed (
  queue_id integer not null,
  until timestamp with time zone not null,
  jobs integer not null,
  constraint claimed_pkey PRIMARY KEY (queue_id, until)
)
with (fillfactor=70, vacuum_truncate=false);

create table dibs.gates (
  queue_id integer not null,
  counting_since timestamp with time zone not null,
  leases_from timestamp with time zone not null default '-infinity'::timestamp with time zone,
  claims_from timestamp with time zone not null default '-infinity'::timestamp with time zone,
  tidied_at timestamp with time zone not null default '-infinity'::timestamp with time zone,
  constraint gates_pkey PRIMARY KEY (queue_id)
);

create table dibs.idempotency_keys (
  route text not null,
  key text not null,
  fingerprint bytea not null,
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  status smallint,
  location text,
  body text,
  open_until timestamp with time zone,
  constraint idempotency_fingerprint CHECK ((octet_length(fingerprint) = 32)),
  constraint idempotency_key CHECK (((char_length(key) >= 1) AND (char_length(key) <= 256))),
  constraint idempotency_keys_pkey PRIMARY KEY (route, key)
);

create table dibs.jobs (
  queue_id integer not null,
  state dibs.job_state not null,
  id uuid not null,
  "position" bigint not null default nextval('dibs.positions'::regclass),
  run_at timestamp with time zone not null,
  created_at timestamp with time zone not null default now(),
  lease_expires_at timestamp with time zone,
  finished_at timestamp with time zone,
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
  payload json not null,
  unique_key text,
  group_key text,
  is_head boolean not null default false,
  fairness_key text,
  expires_at timestamp with time zone,
  awaited_until timestamp with time zone,
  counted boolean not null default false,
  enqueued json,
  claim_id text,
  claim_holder uuid,
  constraint job_attempts CHECK ((((attempt >= 0) AND (attempt <= max_attempts)) AND ((max_attempts >= 1) AND (max_attempts <= 1000)) AND (deliveries >= attempt))),
  constraint job_cancelling CHECK (((NOT cancel_requested) OR (state = ANY (ARRAY['leased'::dibs.job_state, 'completed'::dibs.job_state, 'cancelled'::dibs.job_state])))),
  constraint job_claim CHECK ((((char_length(claim_id) >= 1) AND (char_length(claim_id) <= 256)) AND ((claim_id IS NULL) = (claim_holder IS NULL)))),
  constraint job_enqueued CHECK (((enqueued IS NULL) OR (state = 'completed'::dibs.job_state))),
  constraint job_finished CHECK (((state = ANY (ARRAY['completed'::dibs.job_state, 'cancelled'::dibs.job_state, 'dead'::dibs.job_state])) = (finished_at IS NOT NULL))),
  constraint job_group CHECK (
CASE
    WHEN is_head THEN ((group_key IS NOT NULL) AND (state = ANY (ARRAY['ready'::dibs.job_state, 'leased'::dibs.job_state, 'scheduled'::dibs.job_state])))
    WHEN (state = 'blocked'::dibs.job_state) THEN (group_key IS NOT NULL)
    ELSE ((group_key IS NULL) OR (state <> ALL (ARRAY['ready'::dibs.job_state, 'leased'::dibs.job_state])))
END),
  constraint job_keys CHECK (((char_length(unique_key) >= 1) AND (char_length(unique_key) <= 256) AND ((char_length(group_key) >= 1) AND (char_length(group_key) <= 256)) AND ((char_length(fairness_key) >= 1) AND (char_length(fairness_key) <= 256)))),
  constraint job_leased CHECK ((((state = 'leased'::dibs.job_state) = (lease_expires_at IS NOT NULL)) AND ((state <> 'leased'::dibs.job_state) OR (lease_token IS NOT NULL)))),
  constraint job_priority CHECK (((priority >= '-100'::integer) AND (priority <= 100))),
  constraint jobs_pkey PRIMARY KEY (queue_id, id)
)
with (vacuum_truncate=false, autovacuum_vacuum_scale_factor=0.05, autovacuum_analyze_scale_factor=0.05);

create table dibs.migrations (
  version integer not null,
  name text not null,
  applied_at timestamp with time zone not null default now(),
  constraint migrations_pkey PRIMARY KEY (version)
);

create table dibs.queues (
  id integer not null default nextval('dibs.queue_ids'::regclass),
  name text not null,
  paused boolean not null default false,
  lease_seconds double precision not null default 30,
  max_attempts integer not null default 5,
  backoff json not null default '{"kind":"exponential","base_seconds":1,"max_seconds":3600,"jitter":0.2}'::json,
  retention_seconds double precision not null default 0,
  dead_retention_seconds double precision not null default 1209600,
  created_at timestamp with time zone not null default now(),
  max_leased integer,
  rate_jobs integer,
  rate_seconds double precision,
  max_ready integer,
  fair boolean not null default false,
  constraint queue_attempts CHECK (((max_attempts >= 1) AND (max_attempts <= 1000))),
  constraint queue_dead_retention CHECK (((dead_retention_seconds >= (0)::double precision) AND (dead_retention_seconds <= (31622400)::double precision))),
  constraint queue_lease CHECK (((lease_seconds >= (0.1)::double precision) AND (lease_seconds <= (43200)::double precision))),
  constraint queue_limits CHECK ((((max_leased >= 1) AND (max_leased <= 100000)) AND ((rate_jobs >= 1) AND (rate_jobs <= 1000000000)) AND ((rate_seconds >= (0.1)::double precision) AND (rate_seconds <= (31622400)::double precision)) AND ((rate_jobs IS NULL) = (rate_seconds IS NULL)) AND ((max_ready >= 1) AND (max_ready <= 1000000)))),
  constraint queue_name CHECK ((name ~ '^[A-Za-z0-9._:-]{1,128}$'::text)),
  constraint queue_retention CHECK (((retention_seconds >= (0)::double precision) AND (retention_seconds <= (31622400)::double precision))),
  constraint queues_name_key UNIQUE (name),
  constraint queues_pkey PRIMARY KEY (id)
);

create table dibs.schedules (
  name text not null,
  cron text not null,
  timezone text not null,
  paused boolean not null,
  job json not null,
  payload json,
  next_run_at timestamp with time zone,
  last_run_at timestamp with time zone,
  revision uuid not null,
  constraint schedule_name CHECK ((name ~ '^[A-Za-z0-9._:-]{1,128}$'::text)),
  constraint schedule_paused CHECK (((NOT paused) OR (next_run_at IS NULL))),
  constraint schedules_pkey PRIMARY KEY (name)
);

-- indexes

CREATE INDEX idempotency_keys_expiry ON dibs.idempotency_keys USING btree (expires_at);

CREATE INDEX jobs_blocked ON dibs.jobs USING btree (queue_id, group_key, "position") WHERE (state = 'blocked'::dibs.job_state);

CREATE INDEX jobs_by_state ON dibs.jobs USING btree (queue_id, state, id) WHERE (state = ANY (ARRAY['scheduled'::dibs.job_state, 'blocked'::dibs.job_state, 'completed'::dibs.job_state, 'cancelled'::dibs.job_state, 'dead'::dibs.job_state]));

CREATE INDEX jobs_claim_id ON dibs.jobs USING btree (queue_id, claim_id, id) WHERE ((state = 'leased'::dibs.job_state) AND (claim_id IS NOT NULL));

CREATE INDEX jobs_counted ON dibs.jobs USING btree (queue_id, lease_expires_at) WHERE ((state = 'leased'::dibs.job_state) AND counted);

CREATE INDEX jobs_expiring ON dibs.jobs USING btree (expires_at, queue_id) WHERE ((expires_at IS NOT NULL) AND (state = ANY (ARRAY['scheduled'::dibs.job_state, 'ready'::dibs.job_state, 'blocked'::dibs.job_state])));

CREATE INDEX jobs_fair ON dibs.jobs USING btree (queue_id, ((- priority)), fairness_key, "position") WHERE ((state = 'ready'::dibs.job_state) AND (fairness_key IS NOT NULL));

CREATE INDEX jobs_finished ON dibs.jobs USING btree (queue_id, state, finished_at, id) WHERE (state = ANY (ARRAY['completed'::dibs.job_state, 'cancelled'::dibs.job_state, 'dead'::dibs.job_state]));

CREATE INDEX jobs_group_key ON dibs.jobs USING btree (queue_id, group_key, id) WHERE (group_key IS NOT NULL);

CREATE UNIQUE INDEX jobs_head ON dibs.jobs USING btree (queue_id, group_key) WHERE is_head;

CREATE INDEX jobs_leased ON dibs.jobs USING btree (lease_expires_at, queue_id) WHERE (state = 'leased'::dibs.job_state);

CREATE INDEX jobs_ready ON dibs.jobs USING btree (queue_id, ((- priority)), "position") WHERE ((state = 'ready'::dibs.job_state) AND (fairness_key IS NULL));

CREATE INDEX jobs_scheduled ON dibs.jobs USING btree (run_at, queue_id, "position") WHERE (state = 'scheduled'::dibs.job_state);

CREATE INDEX jobs_unique_key ON dibs.jobs USING btree (queue_id, unique_key, id) WHERE (unique_key IS NOT NULL);

CREATE INDEX schedules_next ON dibs.schedules USING btree (next_run_at) WHERE (next_run_at IS NOT NULL);
