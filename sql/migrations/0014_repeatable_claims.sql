-- One row for each claim with a claim_id. It decides which of the requests that sent the claim may lease, and which of them
-- answer for what it leased. See docs/decisions/0019-repeated-claims-and-expiry.md.
create table dibs.repeatable_claims (
  -- A hash of the claim_id and the names of the queues.
  mark uuid not null,
  -- The request that may lease, or that has leased: its leases bear it as dibs.jobs.claim_holder.
  holder uuid not null,
  -- The requests that were answered with the leases, or are about to be. Null: only the holder. Empty: nobody, and the
  -- holder may lease no more.
  answerers uuid[],
  -- The holder may wait for jobs: its replica is to hear when another request takes the claim.
  waits boolean not null default false,
  -- Until then no other request takes the claim: the holder, which took it from another, looks at its queues.
  looking_until timestamptz,
  -- Then the row is pruned, or kept for as long as its leases run.
  until timestamptz not null,

  constraint repeatable_claims_pkey primary key (mark)
) with (vacuum_truncate = false);
create index repeatable_claims_until on dibs.repeatable_claims (until);
-- Some 20 pages, so that no plan made while it is empty reads all of it later: see 0001_queues_and_jobs.sql.
insert into dibs.repeatable_claims (mark, holder, until)
select gen_random_uuid(), gen_random_uuid(), now() from generate_series(1, 2200);
delete from dibs.repeatable_claims;

-- Finds the leases of a claim in all of its queues.
create index jobs_claim_holder on dibs.jobs (claim_holder) where state = 'leased' and claim_holder is not null;

-- Only older replicas write claim_id. It goes, with its index, once none of them runs any more.
alter table dibs.jobs drop constraint job_claim;
