-- What an enqueue does with the waiting job that has its unique key. See docs/decisions/0101-replacing-duplicates.md.
-- The types dibs.new_job and dibs.kept_job stay: statements of older replicas cast rows to them.
-- oldest: 24
alter table dibs.relay add column on_duplicate text;
-- Beside each of the jobs: what its answer said.
alter table dibs.idempotency_keys add column replaced boolean[];

-- sql/functions make them anew, with one parameter more. Older replicas leave it out.
drop function if exists dibs.insert_unique(integer, dibs.new_job[]);
drop function if exists dibs.put_in(dibs.queues, dibs.new_job);
drop function if exists dibs.enqueue(
  text, json, json, integer, double precision, timestamptz, integer, json, text, double precision, text, text,
  double precision
);
