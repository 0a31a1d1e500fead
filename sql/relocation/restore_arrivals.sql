-- Puts in what has arrived at a queue from the relays of other databases.
insert into dibs.relay_arrivals
select * from json_populate_recordset(null::dibs.relay_arrivals, :arrivals::json)
on conflict (queue_id, source) do update
set number = excluded.number
where relay_arrivals.number < excluded.number;
