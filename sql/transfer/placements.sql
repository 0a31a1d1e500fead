-- Where each queue lives. In home.
select queue_id, name, database
from dibs.placements;
