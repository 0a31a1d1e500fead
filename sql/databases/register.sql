-- Home knows a database from now on.
insert into dibs.databases (name, id)
values (:name, :id)
on conflict (name) do nothing;
