-- How many jobs wait here to arrive in other databases, for each queue, counted up to :most in all, and how long the oldest has waited.
select
  array_agg(queue_id) as queue_ids,
  array_agg(jobs) as counts,
  (
    select extract(epoch from clock_timestamp() - created_at)::double precision
    from dibs.relay
    order by place
    limit 1
  ) as oldest_seconds
from (
  select queue_id, count(*)::integer as jobs
  from (select queue_id from dibs.relay order by queue_id limit (select :most::integer)) as counted
  group by queue_id
) as of_one;
