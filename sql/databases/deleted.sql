-- In home: no row comes back where it has not deleted the queue with this number. A number without a place is one that it has
-- forgotten then.
select queue_id from dibs.free_queue_ids where queue_id = :queue_id;
