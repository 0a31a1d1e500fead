-- Notes the leases that match at the call of an operation. The sweeper takes back a lease within a second of its end: so the
-- scan leaves the index entries of older ones out.
with noted as (
  insert into dibs.operation_leases (operation_id, job_id, lease_token)
  select :id, id, lease_token
  from dibs.jobs
  where state = 'leased'
    and lease_expires_at > now() - interval '1 minute'
    and queue_id = :queue_id
    and
    -- include shared/job_filter.sql
  returning job_id
)
update dibs.operations o
set matched = (select count(*) from noted)
where id = :id
returning
  -- include shared/operation_columns.sql
;
