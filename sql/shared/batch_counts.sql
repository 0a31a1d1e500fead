-- The numbers of batch_columns.sql.
cross join lateral (
  select
    count(*) filter (where state = 'scheduled') as scheduled,
    count(*) filter (where state = 'ready') as ready,
    count(*) filter (where state = 'blocked') as blocked,
    count(*) filter (where state = 'leased') as leased
  from dibs.jobs j
  where j.batch_id = b.id and j.state in ('scheduled', 'ready', 'blocked', 'leased')
) as waiting
cross join lateral (
  select
    b.completed + coalesce(sum(change) filter (where state = 'completed'), 0) as completed,
    b.cancelled + coalesce(sum(change) filter (where state = 'cancelled'), 0) as cancelled,
    b.dead + coalesce(sum(change) filter (where state = 'dead'), 0) as dead
  from dibs.batch_ends e
  where e.batch_id = b.id
) as ended
