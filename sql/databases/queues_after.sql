-- The next queues of this database, by their numbers.
select id, name
from dibs.queues
where id > :after
order by id
limit (select :limit::integer);
