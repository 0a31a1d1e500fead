-- Marks a queue when its first job with a fairness key comes. From then on its claims use claim/fair.sql.
update dibs.queues set fair = true where name = :name and not fair;
