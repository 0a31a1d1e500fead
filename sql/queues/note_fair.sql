-- Notes at a queue that it has jobs with fairness keys, when the first of them comes. From then on its claims use
-- claim/fair.sql.
with asked as (
  delete from dibs.fair_marks where queue_id = (select id from dibs.queues where name = :name)
)
update dibs.queues set fair = true where name = :name and not fair;
