-- Who keeps autovacuum from clearing dead rows, and since when, the oldest first. `age` counts transactions. Readers of other
-- databases keep nothing here, writers do. A role without pg_read_all_stats is not told since when others run.
select *
from (
  select
    case when backend_type = 'walsender' then 'standby' else 'transaction' end as kind,
    pid::text as name,
    usename::text as role,
    datname::text as database,
    nullif(application_name, '') as application,
    state,
    extract(epoch from statement_timestamp() - coalesce(xact_start, backend_start))::double precision as seconds,
    greatest(age(backend_xmin), age(backend_xid)) as age
  from pg_stat_activity
  where (backend_xid is not null or backend_xmin is not null and (datid is null or datname = current_database()))
    and pid <> pg_backend_pid()
    and coalesce(backend_type, '') <> 'autovacuum worker'
  union all
  select
    'prepared', gid, owner::text, database::text, null, null,
    extract(epoch from statement_timestamp() - prepared)::double precision,
    age(transaction)
  from pg_prepared_xacts
  union all
  select 'slot', slot_name::text, null, database::text, null, case when active then 'active' else 'inactive' end, null, age(xmin)
  from pg_replication_slots
  where xmin is not null
) as held
order by age desc;
