-- The databases that home knows, and whether new queues go there.
select name, id, accepts_queues from dibs.databases order by created_at, name;
