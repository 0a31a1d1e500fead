-- Takes the leases of a claim that nobody answers for from the claim, so that no repeat finds them any more and they
-- can be released. It runs after leave.sql, in its transaction.
-- FOR UPDATE asks dibs.by_index of each row again, which the planner takes for dear. So the jobs are found first, and
-- then locked by their ids. Only leases have an end, and the planner takes no index on leases for that.
with claim as materialized (
  select holder from dibs.repeatable_claims where mark = :mark and answerers = '{}'
),
named as materialized (
  select queue_id, id
  from dibs.jobs
  where dibs.by_index(state = 'leased') and claim_holder = (select holder from claim)
),
held as materialized (
  select queue_id, id
  from dibs.jobs
  where queue_id = any (array(select queue_id from named))
    and id = any (array(select id from named))
    and lease_expires_at is not null
    and claim_holder = (select holder from claim)
  order by id
  for update
)
update dibs.jobs j
set claim_id = null, claim_holder = null
where j.queue_id = any (array(select queue_id from held))
  and j.id = any (array(select id from held))
returning j.id, j.lease_token;
