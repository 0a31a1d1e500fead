-- Creates a queue with the default configuration, unless there is one of that name. It looks for the name first: an
-- insert that conflicts would use up one of the 16 million ids. It returns something, so that a connection on which it
-- meets a lock knows that it is prepared, and is kept.
insert into dibs.queues (name)
select :name::text
where not exists (select from dibs.queues where name = :name::text)
on conflict (name) do nothing
returning id;
