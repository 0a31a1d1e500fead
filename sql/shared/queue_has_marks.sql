-- Whether dibs.enqueue asks for the mark `fair` of this queue. A mark may come late, when the queue has it already: the
-- look-up removes it too.
exists (select from dibs.fair_marks m where m.queue_id = queues.id) as has_marks
