-- A page of queues by name.
select
  -- include shared/queue_columns.sql
from dibs.queues
where name > :after
order by name
limit :limit;
