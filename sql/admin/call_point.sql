-- The moment of the call of a purge: a position behind all that were given out, the transactions that are open, and the
-- next one. What these commit came after the call. Rows know transactions by their last 32 bits.
-- A snapshot leaves subtransactions out: savepoints, and blocks with an exception handler. They are looked up among the
-- last 200,000 ids (0.2 s), from the oldest open transaction on. Most often these are a few.
with now as materialized (
  select
    pg_current_snapshot() as snapshot,
    greatest(
      pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
      pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 200000
    ) as oldest,
    pg_snapshot_xmax(pg_current_snapshot())::text::bigint as next
)
select
  nextval('dibs.positions') as last_position,
  array(
    select (id::text::bigint % 4294967296)::text from now, pg_snapshot_xip(snapshot) as open (id)
    union
    select (id % 4294967296)::text
    from now, generate_series(oldest, next - 1) as id
    where pg_xact_status(id::text::xid8) = 'in progress'
  ) as open_transactions,
  next % 4294967296 as next_transaction
from now;
