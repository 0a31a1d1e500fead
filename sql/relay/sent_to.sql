-- The queues to which jobs have gone from here, behind the number :after, up to :limit.
select queue_id
from dibs.relay_parcels
where queue_id > :after
order by queue_id
limit (select :limit::integer);
