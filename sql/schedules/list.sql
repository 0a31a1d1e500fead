-- A page of schedules by name.
select
  -- include shared/schedule_columns.sql
from dibs.schedules
where name > :after
order by name
limit :limit;
