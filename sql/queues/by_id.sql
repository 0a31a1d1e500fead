-- A queue by its id, which stands in the ids of its jobs.
select
  -- include shared/queue_columns.sql
  ,
  -- include shared/queue_has_marks.sql
from dibs.queues
where id = :queue_id;
