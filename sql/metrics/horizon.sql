-- For how long the oldest transaction of the server has kept dead rows from being cleared, as far as this role may see.
-- A role without pg_read_all_stats sees its own transactions and all prepared ones.
select extract(epoch from statement_timestamp() - min(since))::double precision as seconds
from (
  select xact_start as since from pg_stat_activity where backend_xmin is not null and pid <> pg_backend_pid()
  union all
  select prepared as since from pg_prepared_xacts
) as held;
