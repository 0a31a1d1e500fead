-- The next :limit jobs of one queue, oldest first, that were dead when the redrive was asked for (:called_at).
-- Ordered by the column, not by its text of the same name, which no index has and whose order is the locale's.
-- The limit stands in a sub-select for the planner's sake: see claim.sql.
select id, finished_at::text, :error_contains::text is null or strpos(coalesce(last_error, ''), :error_contains) > 0 as wanted, unique_key
from dibs.jobs
where queue_id = :queue_id
  and state = 'dead'
  and (finished_at, id) > (:after_finished_at::timestamptz, :after_id::uuid)
  and finished_at <= :called_at::timestamptz
order by jobs.finished_at, id
limit (select :limit::integer);
