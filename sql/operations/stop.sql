-- Stops an operation, if it is running. It waits for the end of the portion that is under way.
with stopped as (
  update dibs.operations o
  set state = 'cancelled', finished_at = clock_timestamp()
  where id = :id
    and state = 'running'
    and
    -- include shared/visible_operation.sql
  returning id
)
delete from dibs.operation_leases where operation_id = any (array(select id from stopped));
