-- How many relocations of this caller run.
select count(*)::integer as own
from dibs.relocations
where phase <> 'ended' and actor is not distinct from :by::text;
