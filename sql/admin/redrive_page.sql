-- The next $6 jobs of one queue, oldest first, that were dead when the redrive was asked for ($4).
-- Ordered by the column, not by its text of the same name, which no index has and whose order is the locale's.
-- The limit stands in a sub-select for the planner's sake: see claim.sql.
select id, finished_at::text, $5::text is null or strpos(coalesce(last_error, ''), $5) > 0 as wanted, unique_key
from dibs.jobs
where queue_id = $1
  and state = 'dead'
  and (finished_at, id) > ($2::timestamptz, $3::uuid)
  and finished_at <= $4::timestamptz
order by jobs.finished_at, id
limit (select $6::integer);
