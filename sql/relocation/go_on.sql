-- In home: works on a relocation for :seconds from now, and tells how many jobs are done. Returns whether it was asked to stop.
-- No row comes back when another replica has taken it, or when it has ended.
update dibs.relocations
set worked_until = now() + :seconds::double precision * interval '1 second', done = coalesce(:done, done)
where id = :id and attempt = :attempt and phase <> 'ended'
returning is_stopped;
