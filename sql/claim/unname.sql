-- Takes the leases of a claim that nobody answers for from the claim, so that no repeat finds them any more and they can be
-- released. It runs behind leave.sql.
with held as materialized (
  select queue_id, id
  from dibs.jobs
  where dibs.by_index(state = 'leased')
    and claim_holder = (select holder from dibs.repeatable_claims where mark = :mark and answerers = '{}')
  order by id
  for update
)
update dibs.jobs j
set claim_id = null, claim_holder = null
where j.queue_id = any (array(select queue_id from held))
  and j.id = any (array(select id from held))
returning j.id, j.lease_token;
