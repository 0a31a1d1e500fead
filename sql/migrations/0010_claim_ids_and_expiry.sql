-- Which claim holds a lease, so that its repetition finds it; and what is still waiting when its time is over.
alter table dibs.jobs
  add claim_id text,
  -- The request that answers for the lease: the claim, or the last one that repeated it. Only that one may give it back.
  add claim_holder uuid,

  add constraint job_claim check (
    char_length(claim_id) between 1 and 256 and (claim_id is null) = (claim_holder is null)
  );

-- With the id in it, as claimed.sql goes by: else its order seemed to the planner to come cheaper from the primary key.
create index jobs_claim_id on dibs.jobs (queue_id, claim_id, id) where state = 'leased' and claim_id is not null;

-- What the sweeper scans: see jobs_leased.
create index jobs_expiring on dibs.jobs (expires_at, queue_id)
  where expires_at is not null and state in ('scheduled', 'ready', 'blocked');
