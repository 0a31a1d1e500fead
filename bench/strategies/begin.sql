-- Opens the transaction in which a job is worked.
begin;
