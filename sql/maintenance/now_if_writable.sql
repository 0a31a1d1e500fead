-- The time of the database's clock, and whether the database takes no writes: it is a standby, or set so.
select now() as now, current_setting('transaction_read_only')::boolean as is_read_only;
