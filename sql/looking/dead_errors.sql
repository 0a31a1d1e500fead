-- Why jobs of a queue are dead: the first lines of the errors of its newest :look dead jobs, and how many jobs have each.
-- An error has up to 16 KiB: only its beginning is read. The limit stands in a sub-select for the planner's sake: see
-- claim_scan.sql.
with looked as materialized (
  select id, finished_at, left(split_part(left(last_error, 1000), E'\n', 1), 200) as error
  from dibs.jobs
  where queue_id = :queue_id and state = 'dead'
  order by id desc
  limit (select :look::integer)
)
select
  error,
  count(*)::integer as jobs,
  max(id::text) as newest_id,
  min(finished_at) as first_at,
  max(finished_at) as last_at
from looked
group by error;
