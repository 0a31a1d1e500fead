-- Makes times of this transaction come out in UTC.
select set_config('timezone', 'UTC', true) as timezone;
