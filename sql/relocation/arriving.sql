-- A queue arrives in this database in this transaction, or comes back to it: see functions/place_at_home.sql.
select set_config('dibs.arriving', :queue_id::integer::text, true);
