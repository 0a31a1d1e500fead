-- Ends a batch, if it has to be. Usually the commit of its last job has done so.
select dibs.end_batch(:id);
