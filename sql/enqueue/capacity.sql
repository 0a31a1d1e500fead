-- How many more jobs a queue with max_ready has room for; null when it has none any more.
select dibs.room($1) as room;
