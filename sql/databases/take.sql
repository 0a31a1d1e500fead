-- This database becomes the database :name of the Dibs whose home has the id :home, unless it belongs to one.
update dibs.this_database
set name = :name, home = :home
where name is null
returning id;
