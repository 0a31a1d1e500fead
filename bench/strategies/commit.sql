-- Ends the transaction in which a worker did a job.
commit;
