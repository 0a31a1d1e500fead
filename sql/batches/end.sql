-- Ends those of these batches that have to be, in the order of their ids. Usually the commit of the last job has done so.
select dibs.end_batch(id)
from (select id from unnest(:ids::uuid[]) as asked (id) order by id) as batch;
