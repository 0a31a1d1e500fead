-- What the server is: its encoding, and whether it takes writes.
select
  current_setting('server_encoding') as encoding,
  pg_is_in_recovery() as is_standby,
  current_setting('transaction_read_only')::boolean as is_read_only;
