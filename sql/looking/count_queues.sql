-- How many queues there are.
select count(*)::integer as queues
from dibs.queues
where :visible::text[] is null or name like any (:visible);
