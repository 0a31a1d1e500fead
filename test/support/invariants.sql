-- What holds for every job. The database of a test checks it for each row that is written, but in tests that start a PostgreSQL of
-- their own. In production it costs too much: see docs/decisions/0043-cheap-checks.md. Leases and ends are checked there, too (job_state).
alter table dibs.jobs
  add constraint job_attempts check (
    attempt between 0 and max_attempts and max_attempts between 1 and 1000 and deliveries >= attempt
  ),
  add constraint job_cancelling check (not cancel_requested or state in ('leased', 'completed', 'cancelled')),
  add constraint job_enqueued check (enqueued is null or state = 'completed'),
  add constraint job_group check (
    case
      when is_head then group_key is not null and (state in ('ready', 'leased', 'scheduled') or state = 'blocked' and is_paused is true)
      when is_paused then state not in ('ready', 'leased')
      when state = 'blocked' then group_key is not null
      else group_key is null or state not in ('ready', 'leased')
    end
  ),
  add constraint job_keys check (
    char_length(unique_key) between 1 and 256
    and char_length(group_key) between 1 and 256
    and char_length(fairness_key) between 1 and 256
  ),
  add constraint job_priority check (priority between -100 and 100),
  add constraint job_token check (state <> 'leased' or lease_token is not null);
