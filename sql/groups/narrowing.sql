-- Whether groups of this queue may have more heads than it allows. While it is imported, nobody looks.
select is_narrowing and not is_importing as is_narrowing from dibs.queues where id = :queue_id;
