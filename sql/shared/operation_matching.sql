-- The next :limit jobs by id that an operation looks at, behind :after_id, and those of them that match. The statement closes
-- the bracket. :walked_state is null for a state that has no index by id: then it looks at jobs of all states.
-- It looks at a bounded number of jobs, however few of them match. So each portion takes about as long as the others.
-- The state is compared as a text, so that no index but the primary key seems to fit.
looked as materialized (
  select id, unique_key
  from dibs.jobs
  where queue_id = :queue_id
    and (:walked_state::dibs.job_state is null or state = :walked_state)
    and (:group::text is null or group_key = :group)
    and id > :after_id
  order by id
  limit (select :limit::integer)
),
matching as materialized (
  select id, unique_key, case when is_head then group_key end as headless, group_key, position
  from dibs.jobs
  where queue_id = :queue_id
    and id = any (array(select id from looked))
    and state::text = :state
    and
    -- include shared/job_filter.sql
    and (
      -- include shared/there_at_call.sql
      or
      -- include shared/advanced_since_call.sql
    )
