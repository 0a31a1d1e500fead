-- A page of all queues, by id.
select id, name, paused, max_leased, max_ready, alert_after_seconds
from dibs.queues
where id > :after
order by id
limit (select :limit::integer);
