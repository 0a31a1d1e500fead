-- How many batches are open and how many are closed and have not ended, counted up to :most, and how long the oldest of the closed ones
-- has been that.
select
  (
    select count(*)::integer
    from (
      select from dibs.batches where finished_at is null and closed_at is null limit (select :most::integer)
    ) as counted
  ) as open,
  (
    select count(*)::integer
    from (
      select from dibs.batches where finished_at is null and closed_at is not null limit (select :most::integer)
    ) as counted
  ) as running,
  (
    select extract(epoch from clock_timestamp() - closed_at)::double precision
    from dibs.batches
    where finished_at is null and closed_at is not null
    order by closed_at
    limit 1
  ) as oldest_seconds;
