-- The places of these queues. Those that have none get one: functions/place.sql.
select queue_id, name, database, moving_to
from dibs.place(:names::text[], :wish::text, :away::text[]);
