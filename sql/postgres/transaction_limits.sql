-- Limits the transaction that follows.
select
  -- include shared/transaction_limits.sql
;
