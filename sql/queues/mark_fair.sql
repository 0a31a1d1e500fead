-- Marks a queue when its first job with a fairness key comes. From then on its claims use claim/fair.sql.
with seen as (
  delete from dibs.fair_marks where queue_id = (select id from dibs.queues where name = :name)
)
update dibs.queues set fair = true where name = :name and not fair;
