-- Cancels the jobs of a portion. The transaction has locked them.
update dibs.jobs j
set
  -- include shared/cancelled.sql
where
  -- include shared/batch_by_id.sql
returning j.id, j.state, j.awaited_until > now() as awaited;
