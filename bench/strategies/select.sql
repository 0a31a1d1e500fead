-- Reads the first job. Every other worker can read it too.
select id, payload
from queue
order by id
limit 1;
