-- The stored scan floors of a queue: those of the jobs with fairness keys (:has_keys), or those of the others.
select rank, position
from (
  select rank, case when :has_keys::boolean then fair_position else position end as position
  from dibs.scan_floors
  where queue_id = :queue_id
) as stored
where position > -1;
