-- Tables and functions take the names of docs/glossary.md.
alter table dibs.gates rename to claim_limits;
alter table dibs.claim_limits rename column tidied_at to pruned_at;
alter index dibs.gates_pkey rename to claim_limits_pkey;
alter table dibs.claimed rename to claim_log;
alter index dibs.claimed_pkey rename to claim_log_pkey;

-- Before functions are made: a database that starts with this migration has none of them.
drop function if exists dibs.room(integer);
drop function if exists dibs.insert_jobs(
  integer, uuid[], double precision[], timestamptz[], smallint[], integer[], text[], text[], text[],
  text[], text[], text[], double precision[], double precision[], bigint[]
);
drop function if exists dibs.insert_unique(
  integer, uuid[], double precision[], timestamptz[], smallint[], integer[], text[], text[], text[],
  text[], text[], text[], double precision[], double precision[], double precision[]
);
drop function if exists dibs.check_enqueue(
  text, json, json, integer, double precision, timestamptz, integer, text, double precision, text, text, double precision
);
delete from dibs.functions where name in ('room', 'insert_jobs', 'check_enqueue');

-- A job to insert, as dibs.insert_unique takes it and sql/shared/new_jobs.sql makes it.
create type dibs.new_job as (
  id uuid,
  delay_seconds double precision,
  run_at timestamptz,
  priority smallint,
  max_attempts integer,
  backoff text,
  headers text,
  payload text,
  unique_key text,
  unique_for_seconds double precision,
  group_key text,
  fairness_key text,
  expires_in_seconds double precision,
  awaited_seconds double precision
);

-- A window keeps its job whole, as it was enqueued, without the payload. A new column of a job needs none here.
alter table dibs.unique_windows add job json;
update dibs.unique_windows
set job = json_build_object(
  'queue_id', queue_id, 'id', job_id, 'state', 'ready', 'run_at', run_at, 'created_at', created_at, 'priority', priority,
  'attempt', 0, 'max_attempts', max_attempts, 'deliveries', 0, 'unique_key', unique_key, 'group_key', group_key,
  'fairness_key', fairness_key, 'headers', headers
);
alter table dibs.unique_windows
  alter job set not null,
  drop run_at,
  drop created_at,
  drop priority,
  drop max_attempts,
  drop group_key,
  drop fairness_key,
  drop headers;
