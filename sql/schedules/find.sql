-- A schedule by name.
select
  -- include shared/schedule_columns.sql
from dibs.schedules
where name = :name
  and
  -- include shared/visible_schedule.sql
;
