-- A queue by its id, which stands in the ids of its jobs.
select
  -- include shared/queue_columns.sql
from dibs.queues
where id = :queue_id;
