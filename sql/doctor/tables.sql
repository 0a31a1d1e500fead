-- The tables of Dibs: dead rows, how many autovacuum lets pass, and when it was there.
select
  c.relname::text as name,
  coalesce(s.n_live_tup, 0) as live,
  coalesce(s.n_dead_tup, 0) as dead,
  (
    coalesce(option.threshold, current_setting('autovacuum_vacuum_threshold')::double precision)
    + coalesce(option.share, current_setting('autovacuum_vacuum_scale_factor')::double precision) * greatest(c.reltuples, 0)
  ) as allowed,
  coalesce(option.enabled, true) as is_vacuumed,
  extract(epoch from statement_timestamp() - greatest(s.last_vacuum, s.last_autovacuum))::double precision as vacuumed_seconds,
  pg_table_size(c.oid) as bytes
from pg_class c
left join pg_stat_user_tables s on s.relid = c.oid
cross join lateral (
  select
    max(option_value) filter (where option_name = 'autovacuum_vacuum_threshold')::double precision as threshold,
    max(option_value) filter (where option_name = 'autovacuum_vacuum_scale_factor')::double precision as share,
    max(option_value) filter (where option_name = 'autovacuum_enabled')::boolean as enabled
  from pg_options_to_table(c.reloptions)
) as option
where c.relnamespace = 'dibs'::regnamespace and c.relkind = 'r'
order by s.n_dead_tup desc nulls last, c.relname;
