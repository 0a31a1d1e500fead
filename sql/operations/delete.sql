-- Deletes the jobs of a portion. The transaction has locked them.
with batch as materialized (
  select j.id, j.state, j.unique_key
  from dibs.jobs j
  where
    -- include shared/batch_by_id.sql
),
-- include shared/delete_batch.sql dead=cancelled
select count(*)::integer as count from batch;
