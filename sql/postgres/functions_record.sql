-- Notes from what text a function was made.
insert into dibs.functions (name, checksum)
values ($1, $2)
on conflict (name) do update set checksum = excluded.checksum;
