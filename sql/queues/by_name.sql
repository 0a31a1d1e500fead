-- A queue by name.
select
  -- include shared/queue_columns.sql
  ,
  -- include shared/queue_has_marks.sql
from dibs.queues
where name = :name;
