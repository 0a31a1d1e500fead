-- A page of operations, newest first.
select
  -- include shared/operation_columns.sql
from dibs.operations o
where (:after::uuid is null or id < :after)
  and (:queue::text is null or o.queue = :queue or o.to_queue = :queue)
  and (:state::text is null or o.state = :state)
  and
  -- include shared/visible_operation.sql
order by id desc
limit :limit;
