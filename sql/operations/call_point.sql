-- The moment of the call of a purge: a position behind all that were given out, the transactions that are open, and the
-- next one. What these commit came after the call. Rows know transactions by their last 32 bits.
-- A snapshot leaves subtransactions out: savepoints, and blocks with an exception handler. They are looked up among the ids
-- from the oldest transaction on that holds a lock on dibs.jobs because it has changed jobs. Most often these are a few.
-- This statement looks among the last 200,000 (0.2 s). open_between.sql looks among the others, from `oldest` to `looked_from`.
with now as materialized (
  select
    pg_current_snapshot() as snapshot,
    pg_snapshot_xmax(pg_current_snapshot())::text::bigint as next
),
held as materialized (
  select locktype, database, relation, virtualtransaction, mode, transactionid::text::bigint as xid
  from pg_locks
  where granted
),
open as materialized (
  select coalesce(min(next - age), next) as oldest
  from now
  left join lateral (
    select (next % 4294967296 - own.xid + 4294967296) % 4294967296 as age
    from held as changing
    join held as own on own.virtualtransaction = changing.virtualtransaction
    where changing.locktype = 'relation'
      and changing.relation = 'dibs.jobs'::regclass
      and changing.database = (select oid from pg_database where datname = current_database())
      and changing.mode = 'RowExclusiveLock'
      and own.locktype = 'transactionid'
      and own.mode = 'ExclusiveLock'
  ) as transaction on age < 2147483648
  group by next
),
looked as materialized (
  select greatest(oldest, next - 200000) as first from now, open
)
select
  nextval('dibs.positions') as last_position,
  array(
    select (id::text::bigint % 4294967296)::text from now, pg_snapshot_xip(snapshot) as open (id)
    union
    select (id % 4294967296)::text
    from now, looked, generate_series(first, next - 1) as id
    where pg_xact_status(id::text::xid8) = 'in progress'
  ) as open_transactions,
  next % 4294967296 as next_transaction,
  oldest,
  first as looked_from
from now, open, looked;
