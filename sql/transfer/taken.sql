-- The queues of this database that are in the way of an import: another one of the same name, or of the same id, or one that
-- has jobs. With new ids, only those that have jobs.
select distinct q.name, q.id, exists (select from dibs.jobs j where j.queue_id = q.id) as has_jobs
from dibs.queues q
join unnest(:ids::integer[], :names::text[]) as new (id, name)
  on q.name = new.name or q.id = new.id and not :new_ids::boolean
where exists (select from dibs.jobs j where j.queue_id = q.id)
  or (q.id, q.name) <> (new.id, new.name) and not :new_ids::boolean
order by q.name;
