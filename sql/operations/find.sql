-- An operation by its id.
select
  -- include shared/operation_columns.sql
from dibs.operations o
where id = :id
  and
  -- include shared/visible_operation.sql
;
