-- Notes in a job that has not arrived yet that a client waits for its end, for :seconds from now. It arrives with that. No row
-- comes back for a job that has arrived.
update dibs.relay
set awaited_until = greatest(awaited_until, now() + :seconds::double precision * interval '1 second')
where id = :id
returning place;
