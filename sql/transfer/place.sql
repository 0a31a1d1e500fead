-- Gives the queues of an export places, in home. Without :numbers, new ones get new numbers.
select queue_id, name, database
from dibs.place_imported(:numbers::integer[], :names::text[]);
