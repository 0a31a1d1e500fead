-- Returns schedules with a due tick: 20 of the 40 that are due longest, and up to 5 whose tick was refused before. So
-- ticks come in the order of their times, and those that are refused again and again hold up no others. Which 20 is
-- left to chance: replicas that look at the same moment seldom take the same ones.
(
  select name, cron, timezone, next_run_at, revision, refusals, job, payload
  from dibs.schedules
  where name = any (array(
      select name
      from (
        select name
        from dibs.schedules
        where next_run_at is not null and retry_at is null and next_run_at <= now()
        order by next_run_at
        limit 40
      ) as longest
      order by random()
      limit 20
    ))
)
union all
(
  select name, cron, timezone, next_run_at, revision, refusals, job, payload
  from dibs.schedules
  where next_run_at is not null and retry_at is not null and greatest(next_run_at, retry_at) <= now()
  order by greatest(next_run_at, retry_at)
  limit 5
);
