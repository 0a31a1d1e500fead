-- A new batch, without jobs. It holds its queue until the commit, as batches/follow.sql does. No row comes back when that is gone.
insert into dibs.batches (id, queue_id, name, traceparent)
select :id, q.id, :name, :traceparent
from dibs.queues q
where q.id = :queue_id
for key share
returning created_at;
