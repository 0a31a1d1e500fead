-- Whether dibs.enqueue has brought a job with a fairness key, and asks to note that at the queue. A row may also come when the
-- queue is fair already. Then it is only deleted (queues/note_fair.sql).
exists (select from dibs.fair_marks m where m.queue_id = queues.id) as becomes_fair
