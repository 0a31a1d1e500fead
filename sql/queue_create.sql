-- Creates a queue with default configuration, unless there is one of that name. Looking first, since an insert that
-- finds a conflict has used up an id, and there are only 16 million.
insert into dibs.queues (name)
select $1
where not exists (select from dibs.queues where name = $1)
on conflict (name) do nothing;
