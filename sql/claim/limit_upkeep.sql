-- Makes the leases of a queue count that were given before it had a limit: for 10 s from when that was set, by when every
-- statement has ended that did not know of it. The ids ascend, so that it and a batch that settles cannot deadlock.
-- Also, every 10 s, forgets what has left the window of the rate, and raises the moments from which leases and claims are
-- read: an index keeps entries of what is gone as long as any transaction is old (docs/decisions/0010-scan-from-a-floor.md).
-- A lease that a claim gives or an extension moves ends later than it begins; 10 s are longer than either takes to commit.
with gate as materialized (
  select
    g.*,
    g.counting_since > statement_timestamp() - interval '10 seconds' as marking,
    g.tidied_at < statement_timestamp() - interval '10 seconds' as untidy,
    statement_timestamp() - coalesce(q.rate_seconds, 0) * interval '1 second' - interval '1 second' as window_began
  from dibs.gates g
  cross join dibs.queues q
  where g.queue_id = $1 and q.id = $1
),
uncounted as materialized (
  select id
  from dibs.jobs
  where queue_id = $1
    and state = 'leased'
    and lease_expires_at between (select '-infinity'::timestamptz) and (select 'infinity'::timestamptz)
    and not counted
    and (select marking from gate)
  order by id
  for update
),
marked as (
  update dibs.jobs
  set counted = true
  where queue_id = $1 and id = any (array(select id from uncounted))
),
forgotten as (
  delete from dibs.claimed
  where queue_id = $1
    and until >= (select claims_from from gate)
    and until < (select window_began from gate)
    and (select untidy from gate)
)
update dibs.gates g
set
  tidied_at = statement_timestamp(),
  claims_from = (select window_began from gate),
  leases_from = least(
    (
      select lease_expires_at
      from dibs.jobs
      where queue_id = $1
        and state = 'leased'
        and counted
        and lease_expires_at >= (select leases_from from gate)
      order by queue_id, lease_expires_at
      limit 1
    ),
    statement_timestamp() - interval '10 seconds'
  )
where g.queue_id = $1
  and (select untidy and not marking from gate);
