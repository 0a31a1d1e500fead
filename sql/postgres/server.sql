-- Whose data the server has, which timeline it writes, and whether it takes writes. Any role may ask. pg_control_checkpoint() tells the
-- timeline of the last checkpoint, which may be from before the promotion. The name of a file of the WAL begins with the one of now.
select
  (select system_identifier::text from pg_control_system()) as system,
  case
    when not pg_is_in_recovery()
      then ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer
  end as timeline,
  current_setting('transaction_read_only')::boolean as is_read_only;
