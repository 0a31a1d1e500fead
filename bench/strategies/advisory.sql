-- The first job whose number nobody has locked; the inner limit keeps it from locking more than one. Its snapshot may
-- be older than the lock that it gets: the job whose worker has just deleted it and let go is then done once more.
select id, payload
from (select id, payload from queue order by id limit 32) as head
where pg_try_advisory_xact_lock(id)
limit 1;
