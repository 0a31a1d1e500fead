-- Records the text from which a function was made.
insert into dibs.functions (name, checksum)
values (:name, :checksum)
on conflict (name) do update set checksum = excluded.checksum;
