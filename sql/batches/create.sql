-- A new batch, without jobs.
insert into dibs.batches (id, queue_id, name)
select :id, q.id, :name
from dibs.queues q
where q.id = :queue_id
returning created_at;
