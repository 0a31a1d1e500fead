-- The groups of this queue have no more heads than it allows, if it has not changed since narrowing began.
update dibs.queues
set is_narrowing = false
where id = :queue_id and xmin = :version::text::xid;
