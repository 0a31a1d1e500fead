-- Keeps other claims out of a queue with limits on them until this transaction ends. What follows in it sees all that
-- was claimed before.
select queue_id from dibs.gates where queue_id = $1 for update;
