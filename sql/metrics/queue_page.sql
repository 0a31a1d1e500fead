-- A page of the ids of all queues.
select id from dibs.queues where id > :after order by id limit (select :limit::integer);
