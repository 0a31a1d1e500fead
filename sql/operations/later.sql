-- An operation met something of its own that passes, such as a queue that is being relocated. It rests for a second. Others go on.
update dibs.operations
set worked_at = clock_timestamp() + interval '1 second'
where id = :id and state = 'running';
