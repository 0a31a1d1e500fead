-- Limits of queues: docs/decisions/0016-limits.md.
alter table dibs.queues
  add max_leased integer,
  add rate_jobs integer,
  add rate_seconds double precision,
  add max_ready integer,
  add constraint queue_limits check (
    max_leased between 1 and 100000
    and rate_jobs between 1 and 1000000000
    and rate_seconds between 0.1 and 31622400
    and (rate_jobs is null) = (rate_seconds is null)
    and max_ready between 1 and 1000000
  );

-- Claims of a queue with a limit on them go one at a time, by a lock of its row here. Nobody else takes one.
create table dibs.gates (
  queue_id integer primary key,
  -- From here on claims count leases; those that were given before are marked for a while.
  counting_since timestamptz not null,
  -- No counted lease ends before; see claim_tidy.sql.
  leases_from timestamptz not null default '-infinity',
  -- No claim stands in the log from before.
  claims_from timestamptz not null default '-infinity',
  tidied_at timestamptz not null default '-infinity'
);

-- How many jobs were claimed up to that moment, since the one before, of queues with a rate limit.
create table dibs.claimed (
  queue_id integer,
  until timestamptz,
  jobs integer not null,
  primary key (queue_id, until)
) with (fillfactor = 70, vacuum_truncate = false);
-- Some 20 pages, so that no plan made while it is empty reads all of it later: see 0001_queues_and_jobs.sql.
insert into dibs.claimed (queue_id, until, jobs)
select 0, '2000-01-01T00:00:00Z'::timestamptz + n * interval '1 second', 1 from generate_series(1, 2500) as n;
delete from dibs.claimed;

alter table dibs.jobs add counted boolean not null default false;
-- Only leases of queues that limit them stand in it.
create index jobs_counted on dibs.jobs (queue_id, lease_expires_at) where state = 'leased' and counted;
