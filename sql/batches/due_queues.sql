-- The queues of due followers that are not there any more.
select distinct f.queue
from dibs.batch_followers f
where f.due_at <= now() and not exists (select from dibs.queues q where q.name = f.queue)
limit 10;
