-- Locks the leased jobs of a portion: those whose lease is still the one that matched at the call. It waits for a lease that
-- is being extended.
with looked as materialized (
  select job_id as id, lease_token
  from dibs.operation_leases
  where operation_id = :id and job_id > :after_id
  order by job_id
  limit (select :limit::integer)
),
matching as materialized (
  select id, unique_key, null::text as headless
  from dibs.jobs
  where queue_id = :queue_id
    and id = any (array(select id from looked))
    and state::text = 'leased'
    and (id, lease_token) in (select id, lease_token from looked)
  order by id
  for update
)
-- include shared/operation_page.sql
;
