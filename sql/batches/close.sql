-- Closes a batch.
select dibs.close_batch(:id);
