-- One of these queues that has jobs.
select name
from dibs.queues q
where id = any (:ids::integer[]) and exists (select from dibs.jobs j where j.queue_id = q.id)
order by name
limit 1;
