-- Takes its name from what a claim leased in one queue, unless its repetition answers for it by now (claimed.sql), so that
-- it can be released: no repetition finds it any more.
with held as materialized (
  select id
  from dibs.jobs
  where queue_id = $1 and claim_id = $2 and state = 'leased' and claim_holder = $3
  order by id
  for update
)
update dibs.jobs j
set claim_id = null, claim_holder = null
where j.queue_id = $1 and j.id = any (array(select id from held))
returning j.id, j.lease_token;
