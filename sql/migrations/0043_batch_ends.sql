-- The trigger of batches looks at updates that may finish a job, as the history does. A claim sets the state as well, and paid some
-- 8 µs a job for a look that found nothing. See docs/decisions/0095-batches.md.
-- oldest: 24

create or replace trigger jobs_batch_end
  after update of finished_at, moved_to on dibs.jobs
  for each row
  when (
    new.batch_id is not null
    and old.state <> new.state
    and (new.state in ('completed', 'cancelled', 'dead') or old.state in ('completed', 'cancelled', 'dead'))
  )
  execute function dibs.note_batch_end();
