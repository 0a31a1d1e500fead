-- The numbers of batch_columns.sql. Of each state of unfinished jobs, up to :most are counted.
cross join lateral (
  select
    max(n) filter (where state = 'scheduled') as scheduled,
    max(n) filter (where state = 'ready') as ready,
    max(n) filter (where state = 'blocked') as blocked,
    max(n) filter (where state = 'leased') as leased
  from unnest('{scheduled, ready, blocked, leased}'::dibs.job_state[]) as one (state)
  cross join lateral (
    select count(*) as n
    from (
      select from dibs.jobs j where j.batch_id = b.id and j.state = one.state limit (select :most::integer)
    ) as counted
  ) as counted
) as waiting
cross join lateral (
  select
    b.completed + coalesce(sum(change) filter (where state = 'completed'), 0) as completed,
    b.cancelled + coalesce(sum(change) filter (where state = 'cancelled'), 0) as cancelled,
    b.dead + coalesce(sum(change) filter (where state = 'dead'), 0) as dead
  from dibs.batch_ends e
  where e.batch_id = b.id
) as ended
