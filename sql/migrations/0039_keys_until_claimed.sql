-- Unique keys that a claim frees. See docs/decisions/0102-keys-until-claimed.md.
-- oldest: 24

-- The unique key of such a job, also while it does not hold it. Null: it holds its key until it is finished.
alter table dibs.jobs add column own_key text;
alter table dibs.relocating_jobs add column own_key text;
alter table dibs.relay add column unique_until text;
alter table dibs.batch_followers add column unique_until text;

-- Jobs that came back, and do not hold their key again yet. Only statements that say dibs.by_index may use it (0005_groups.sql): they
-- must not go by the primary key instead.
create index jobs_keyless on dibs.jobs (queue_id, id)
  where own_key is not null and dibs.by_index(unique_key is null and state in ('scheduled', 'ready', 'blocked'));

-- sql/functions make them anew, with a parameter more. Older replicas leave it out.
drop function if exists dibs.insert_unique(integer, dibs.new_job[], text[], jsonb);
drop function if exists dibs.put_in(dibs.queues, dibs.new_job, boolean, uuid);
drop function if exists dibs.enqueue(
  text, json, json, integer, double precision, timestamptz, integer, json, text, double precision, text, text,
  double precision, text
);
