-- How many operations of this caller run.
select count(*)::integer as own
from dibs.operations
where state = 'running' and actor is not distinct from :by::text;
