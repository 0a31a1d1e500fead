-- No queue is created or deleted until this transaction ends.
lock table dibs.queues in share row exclusive mode;
