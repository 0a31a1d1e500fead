-- Opens the transaction in which a worker does a job.
begin;
