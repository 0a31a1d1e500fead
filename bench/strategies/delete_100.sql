-- Deletes jobs that are done.
delete from queue where id = any ($1::bigint[]);
