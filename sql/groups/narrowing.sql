-- Whether groups of this queue may have more heads than it allows.
select is_narrowing from dibs.queues where id = :queue_id;
