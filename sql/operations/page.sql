-- Locks the jobs of a portion. It passes over a job that is being claimed, or changed, at this moment. See
-- shared/operation_matching.sql.
with
-- include shared/operation_matching.sql
  order by id
  for update skip locked
)
-- include shared/operation_page.sql
;
