-- Notes in the unique windows of the jobs that are deleted (`batch`) how these jobs ended. An ack notes nothing: a job
-- that is gone without a note was completed. A job that waits and is deleted counts as cancelled.
-- A job that went to a dead letter queue is a cancelled row by now. Its note says already that it died: functions/dead_letter.sql.
-- It skips a window that another transaction has locked: only a window that is over gets locked.
noted as (
  update dibs.unique_windows
  set ended_as = (
    select case
      when state in ('completed', 'dead') then state
      when state = 'cancelled' and unique_windows.ended_as = 'dead' then 'dead'
      else 'cancelled'
    end
    from batch
    limit 1
  )
  where queue_id = :queue_id
    and unique_key = any (array(
      select held.unique_key
      from batch
      cross join lateral (
        select unique_key
        from dibs.unique_windows
        where queue_id = :queue_id and unique_key = batch.unique_key and job_id = batch.id
        limit 1
        for update skip locked
      ) as held
    ))
)
