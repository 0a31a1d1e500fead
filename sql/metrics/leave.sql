-- Takes queues their rows. What was counted for them goes to queue -1, so that nothing vanishes from the sum.
with gone as (
  delete from dibs.totals where queue_id > 0 and queue_id = any (:queue_ids::integer[]) returning *
)
update dibs.totals t
set
  -- include shared/totals_added.sql
from (
  select
    -- include shared/totals_sums.sql
  from gone n
) as added
where t.queue_id = -1;
