-- The scan floors of a queue that some replica stored: of the jobs with fairness keys (:has_keys), or of the others.
select rank, position
from (
  select rank, case when :has_keys::boolean then fair_position else position end as position
  from dibs.scan_floors
  where queue_id = :queue_id
) as stored
where position > -1;
