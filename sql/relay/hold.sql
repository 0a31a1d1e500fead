-- No parcel to the queue of this job begins or ends until the end of the transaction.
insert into dibs.relay_parcels as held (queue_id, number, places)
select queue_id, 0, '{}' from dibs.relay where id = :id
on conflict (queue_id) do update set number = held.number;
