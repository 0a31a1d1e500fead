-- Marks the first job as held if it still is not: of several that saw it first, all but one wait, find nothing and retry.
update queue
set held = true
where id = (select min(id) from queue where not held)
  and not held
returning id, payload;
