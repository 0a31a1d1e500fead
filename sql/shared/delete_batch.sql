-- Deletes the jobs of `batch`, and notes how those with a unique window ended. In a batch, dead ones count as {dead}: no_ack.sql.
deleted as (
  delete from dibs.jobs j
  where j.queue_id = :queue_id
    and j.id = any (array(select id from batch))
    and
    -- include shared/no_ack.sql dead={dead}
),
-- include shared/note_ends.sql
