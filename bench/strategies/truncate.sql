-- Empties the queue after a run, with its dead rows.
truncate queue restart identity;
