-- The groups of this queue have no more heads than it allows, if its group_concurrency is still the same.
update dibs.queues
set is_narrowing = false
where id = :queue_id and is_narrowing and group_concurrency = :group_concurrency::integer;
