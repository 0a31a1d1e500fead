-- Takes the claim_id from what a claim leased in one queue, so that no repeat finds it any more and it can be released. It leaves
-- leases alone that a repeat answers for by now (repeat.sql).
with held as materialized (
  select id
  from dibs.jobs
  where queue_id = :queue_id and claim_id = :claim_id and state = 'leased' and claim_holder = :claim_holder
  order by id
  for update
)
update dibs.jobs j
set claim_id = null, claim_holder = null
where j.queue_id = :queue_id and j.id = any (array(select id from held))
returning j.id, j.lease_token;
