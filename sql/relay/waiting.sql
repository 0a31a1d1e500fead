-- How many jobs wait here to arrive in other databases, counted up to :most, and how long the oldest has waited.
select
  (select count(*)::integer from (select from dibs.relay limit (select :most::integer)) as counted) as jobs,
  (
    select extract(epoch from clock_timestamp() - created_at)::double precision
    from dibs.relay
    order by place
    limit 1
  ) as oldest_seconds;
