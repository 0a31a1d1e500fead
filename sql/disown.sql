-- Takes its name from what a claim leased in one queue, unless its repetition answers for it by now (claimed.sql, which
-- this is like), so that it can be released: no repetition finds it any more.
with held as materialized (
  select array_agg(id order by id) as ids
  from (
    select id
    from dibs.jobs
    where queue_id = $1 and claim_id = $2 and state = 'leased' and claim_holder = $3
    order by queue_id, claim_id, position
  ) as found
)
update dibs.jobs j
set claim_id = null, claim_holder = null
where j.queue_id = $1
  and j.id = any ((select ids from held)::uuid[])
  and j.id between (select ids[1] from held) and (select ids[cardinality(ids)] from held)
  and j.claim_holder = $3
returning j.id, j.lease_token;
