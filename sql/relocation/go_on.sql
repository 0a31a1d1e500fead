-- In home: works on a relocation for :seconds from now, and tells how many jobs are done. Returns whether it was asked to stop.
update dibs.relocations
set worked_until = now() + :seconds::double precision * interval '1 second', done = coalesce(:done, done)
where id = :id
returning is_stopped;
