-- The first job whose number nobody has locked. The inner limit keeps it from locking more than one. Its
-- snapshot may be older than its lock: a worker may just have deleted this job and unlocked it. The job is
-- then done once more.
select id, payload
from (select id, payload from queue order by id limit 32) as head
where pg_try_advisory_xact_lock(id)
limit 1;
