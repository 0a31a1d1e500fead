-- The databases that home knows.
select name, id from dibs.databases order by created_at, name;
