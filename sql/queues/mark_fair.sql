-- Has the claims of a queue look for turns of keys, from its first job with a fairness key on.
update dibs.queues set fair = true where name = :name and not fair;
