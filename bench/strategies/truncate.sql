-- Empties the queue of the run before, its dead rows too.
truncate queue restart identity;
