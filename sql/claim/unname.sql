-- Takes the leases of a claim away from the claim, if no request answers for them any more. Then no repeat finds them,
-- and they can be released. Runs after leave.sql, in the same transaction.
-- The jobs are found first (`named`), and then locked by their ids (`held`). In one step, FOR UPDATE would check
-- dibs.by_index again for each row, and the planner takes that check for expensive.
-- `lease_expires_at is not null` is true for every lease. It keeps the planner away from the indexes on leases.
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
