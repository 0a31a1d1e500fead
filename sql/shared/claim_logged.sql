-- Writes the claim into the claim log of a queue with a rate limit.
logged as (
  insert into dibs.claim_log (queue_id, until, jobs)
  select :queue_id, date_bin(log_step, statement_timestamp(), '2000-01-01T00:00:00Z') + log_step, cardinality(ids)
  from picked
  cross join allowance
  where ids is not null and log_step is not null
  on conflict (queue_id, until) do update set jobs = claim_log.jobs + excluded.jobs
)
