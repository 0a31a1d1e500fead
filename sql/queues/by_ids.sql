-- Those of the queues with the ids :ids that exist.
select
  -- include shared/queue_columns.sql
  ,
  -- include shared/queue_becomes_fair.sql
from dibs.queues
where id = any (:ids::integer[]);
