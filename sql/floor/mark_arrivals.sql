-- Marks jobs that may have committed late: for each of some queues, those from its position in :firsts to the end of
-- the order.
insert into dibs.arrival_marks (queue_id, first, last)
select new.queue_id, new.first, arrivals.last_value
from unnest(:queue_ids::integer[], :firsts::bigint[]) as new (queue_id, first)
cross join dibs.positions as arrivals;
