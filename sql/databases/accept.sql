-- Says whether new queues go to a database.
update dibs.databases set accepts_queues = :accepts_queues where name = :name;
