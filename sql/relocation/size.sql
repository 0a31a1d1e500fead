-- How many jobs a queue has, and how large their payloads are.
select count(*)::double precision as jobs, coalesce(sum(payload_bytes), 0)::double precision as bytes
from dibs.jobs
where queue_id = :queue_id;
