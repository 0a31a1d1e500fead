-- Reads the first job, and leaves it for everybody else to read.
select id, payload
from queue
order by id
limit 1;
