-- Marks the first job as held if it is still free. Of several workers that see the same job, all but one
-- wait, find nothing and retry.
update queue
set held = true
where id = (select min(id) from queue where not held)
  and not held
returning id, payload;
