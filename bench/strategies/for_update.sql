-- Locks the first job for the transaction that works it: all others wait here until it ends.
select id, payload
from queue
order by id
limit 1
for update;
