-- Pauses or resumes a queue. After a resume, its groups wait for no import any more.
update dibs.queues
set paused = :paused, is_importing = is_importing and :paused
where name = :name
returning id;
