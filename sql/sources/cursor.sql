-- The jobs of another queue that do not stay there, in the order in which they were to run. They are fetched piece by piece.
declare jobs no scroll cursor for
select *
from (
  -- include sources/{source}.sql
) as job
where becomes is not null
order by run_at, created_at, source_id
