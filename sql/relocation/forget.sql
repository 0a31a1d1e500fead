-- What became of a queue in this database matters no more.
delete from dibs.relocating_queues where queue_id = :queue_id and relocation = :relocation;
