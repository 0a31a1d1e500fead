-- A queue by name.
select
  -- include shared/queue_columns.sql
from dibs.queues
where name = :name;
