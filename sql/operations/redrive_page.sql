-- The next :limit jobs of one queue, oldest first, that were dead when the redrive was asked for (:called_at). A job is
-- wanted if its error contains :error_contains and no other job holds its unique key. OFFSET keeps that look a probe of an index.
-- It orders by the column, not by its text of the same name: no index has the text, and its order is the locale's.
-- The limit stands in a sub-select for the planner's sake: see shared/claim_scan.sql.
select
  id,
  finished_at::text,
  (:error_contains::text is null or strpos(coalesce(last_error, ''), :error_contains) > 0)
    and (
      unique_key is null
      or not exists (
        select from dibs.jobs holder
        where holder.queue_id = :queue_id
          and holder.unique_key = jobs.unique_key
          and holder.state in ('scheduled', 'ready', 'blocked', 'leased')
        offset 0
      )
    ) as wanted,
  unique_key
from dibs.jobs
where queue_id = :queue_id
  and state = 'dead'
  and (finished_at, id) > (:after_finished_at::timestamptz, :after_id::uuid)
  and finished_at <= :called_at::timestamptz
order by jobs.finished_at, id
limit (select :limit::integer);
