-- The parcels from this database that are under way, with the places of their jobs.
select queue_id, number, places
from dibs.relay_parcels
where places <> '{}';
