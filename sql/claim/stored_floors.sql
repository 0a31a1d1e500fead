-- The scan floors of a queue that some replica stored.
select rank, position from dibs.scan_floors where queue_id = :queue_id;
