-- A page of schedules by name. It ends when their jobs have :max_bytes together, but it always has the first. `found`
-- is how many it would have had.
select
  -- include shared/schedule_columns.sql
  , found
from (
  select
    *,
    count(*) over ()::integer as found,
    sum(bytes) over (rows unbounded preceding) - bytes as bytes_before
  from (
    select *, octet_length(job::text) + coalesce(octet_length(payload::text), 0) as bytes
    from dibs.schedules
    where name > :after
      and
      -- include shared/visible_schedule.sql
    order by name
    limit :limit
  ) as page
) as s
where bytes_before < :max_bytes::integer
order by name;
