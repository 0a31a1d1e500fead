-- Gives queues of an export places in the database :wish, in home, unless they have one.
select queue_id, name, database
from dibs.place(:names::text[], :wish::text, '{}');
