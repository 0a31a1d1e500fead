-- From its commit on, the group gets heads again. No row comes back when it was not paused.
update dibs.queues
set paused_groups = array_remove(paused_groups, :group::text)
where id = :queue_id and :group = any (paused_groups)
returning id;
