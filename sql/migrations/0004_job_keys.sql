-- What jobs may be told apart by, and until when they count.
alter table dibs.jobs
  add unique_key text,
  -- Jobs of one group go one at a time; the one whose turn it is, from when it is ready until it is finished, is its head.
  add group_key text,
  add is_head boolean not null default false,
  add fairness_key text,
  -- Not handed out after this.
  add expires_at timestamptz,
  -- Until when somebody waits for its end.
  add awaited_until timestamptz,

  add constraint job_keys check (
    char_length(unique_key) between 1 and 256
    and char_length(group_key) between 1 and 256
    and char_length(fairness_key) between 1 and 256
  ),
  add constraint job_group check (
    case
      when is_head then group_key is not null and state in ('ready', 'leased', 'scheduled')
      when state = 'blocked' then group_key is not null
      else group_key is null or state not in ('ready', 'leased')
    end
  );

-- Lists by key.
create index jobs_unique_key on dibs.jobs (queue_id, unique_key, id) where unique_key is not null;
create index jobs_group_key on dibs.jobs (queue_id, group_key, id) where group_key is not null;
