-- Locks the first job for the transaction in which a worker does it. All others wait until that ends.
select id, payload
from queue
order by id
limit 1
for update;
