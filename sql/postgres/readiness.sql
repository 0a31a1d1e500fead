-- Whether an enqueue would work, and if not, why not.
select
  (select max(version) from dibs.migrations) as version,
  pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as is_read_only,
  to_regclass('dibs.jobs') is not null as has_jobs,
  case
    when to_regclass('dibs.jobs') is not null
      then has_table_privilege('dibs.jobs', 'select, insert, update, delete')
        and has_table_privilege('dibs.jobs', 'insert')
        and has_table_privilege('dibs.jobs', 'update')
        and has_table_privilege('dibs.jobs', 'delete')
  end as may_write;
