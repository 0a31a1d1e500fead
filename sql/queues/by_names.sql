-- Those of the queues :names that exist.
select
  -- include shared/queue_columns.sql
  ,
  -- include shared/queue_becomes_fair.sql
from dibs.queues
where name = any (:names::text[]);
