-- Closes a batch, so that nothing follows it.
select dibs.cancel_batch(:id);
