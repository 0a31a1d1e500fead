-- The moment of the call of a purge: a position behind all that were given out, the transactions that are open, and the
-- next one. What these commit came after the call. Rows know transactions by their last 32 bits.
select
  nextval('dibs.positions') as last_position,
  array(
    select (id::text::bigint % 4294967296)::text from pg_snapshot_xip(pg_current_snapshot()) as open (id)
  ) as open_transactions,
  pg_snapshot_xmax(pg_current_snapshot())::text::bigint % 4294967296 as next_transaction;
