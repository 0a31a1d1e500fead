-- Marks jobs of some queues that may have committed late: those with positions from :firsts to the end of the order.
insert into dibs.arrival_marks (queue_id, first, last)
select new.queue_id, new.first, arrivals.last_value
from unnest(:queue_ids::integer[], :firsts::bigint[]) as new (queue_id, first)
cross join dibs.positions as arrivals;
