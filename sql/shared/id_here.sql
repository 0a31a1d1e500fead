-- The id {id} of an export, as it is here. The last 6 digits of an id are its queue: they stay as they are where the queue, {queue}
-- here, has its old number.
(left({id}::text, 30) || lpad(to_hex({queue}), 6, '0'))::uuid
