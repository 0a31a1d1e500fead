-- The queues for which jobs wait here, up to 1,000: their numbers, and the names that they had.
select distinct queue_id as id, queue as name
from dibs.relay
order by queue_id, queue
limit 1000;
