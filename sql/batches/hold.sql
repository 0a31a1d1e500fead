-- Before jobs are put into batches, in the same transaction.
select dibs.hold_batches(:batches::uuid[]);
