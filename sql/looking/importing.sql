-- Whether an import of this queue has not ended.
select is_importing from dibs.queues where id = :queue_id;
