-- The database's clock, in milliseconds.
select extract(epoch from clock_timestamp())::double precision * 1000 as milliseconds;
