-- Deletes a schedule. The jobs that it made stay.
delete from dibs.schedules
where name = :name
  and
  -- include shared/visible_schedule.sql
returning name;
