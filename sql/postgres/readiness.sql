-- Whether an enqueue would work, and if not, why not.
select
  (select max(version) from dibs.migrations) as version,
  pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as is_read_only,
  to_regclass('dibs.jobs') is not null as has_jobs,
  (
    select
      -- include shared/lacks_named.sql
    from (
      -- include shared/serving_lacks.sql
    ) as lacks
    where role = current_user
  ) as lacks;
