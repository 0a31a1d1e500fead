-- Deletes a job that is done.
delete from queue where id = $1;
