-- Limits this transaction: see shared/transaction_limits.sql.
select
  -- include shared/transaction_limits.sql
;
