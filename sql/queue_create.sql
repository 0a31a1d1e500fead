-- Creates a queue with default configuration, unless there is one of that name.
insert into dibs.queues (name) values ($1)
on conflict (name) do nothing;
