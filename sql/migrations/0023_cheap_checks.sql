-- In each statement that writes, PostgreSQL reads the checks of the table from their texts, and the WHEN of a trigger, however
-- few rows it has. Eight checks and the trigger took up to a fifth of its processor time. See docs/decisions/0043-cheap-checks.md.
alter table dibs.jobs
  drop constraint job_attempts,
  drop constraint job_cancelling,
  drop constraint job_enqueued,
  drop constraint job_finished,
  drop constraint job_group,
  drop constraint job_keys,
  drop constraint job_leased,
  drop constraint job_priority,
  -- A lease without an end would never be rescued, and an end without a time never pruned. The states from completed on are ends.
  -- All rows have kept it so far, so none is looked at.
  add constraint job_state check (
    (state = 'leased') = (lease_expires_at is not null) and (state >= 'completed') = (finished_at is not null)
  ) not valid;

-- Whatever goes into the history sets one of these two columns, also to what it was. A claim sets neither.
create or replace trigger jobs_history after update of queue_id, finished_at on dibs.jobs
  for each row
  when (
    old.queue_id <> new.queue_id
    or new.cancel_requested and not old.cancel_requested and new.state = 'leased'
    or new.state <> 'leased'
      and new.state <> 'completed'
      and (
        old.state = 'leased'
        or (old.state = 'dead') <> (new.state = 'dead')
        or new.state = 'cancelled' and old.state <> 'cancelled'
        or old.lease_token is not null and new.lease_token is null
        or new.attempt < old.attempt
      )
  )
  execute function dibs.note_history();
