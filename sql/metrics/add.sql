-- Adds what a replica has counted. What belongs to queues without a row of their own goes to queue 0.
update dibs.totals t
set
  -- include shared/totals_added.sql
from (
  select
    coalesce(o.queue_id, 0) as queue_id,
    -- include shared/totals_sums.sql
  from unnest(
    :queue_ids::integer[],
    -- include shared/event_arrays.sql
  ) as n (
    queue_id,
    -- include shared/event_columns.sql
  )
  left join dibs.totals o on o.queue_id = n.queue_id and o.queue_id > 0
  group by 1
) as added
where t.queue_id = added.queue_id;
