-- claim.sql for a queue that limits its claims, behind claim_gate.sql in one transaction: of what was asked for, as many as
-- may be leased. What is not said here is said there, and a test holds the two together.
-- Leases are counted as rows, up to the limit. The log of the rate has at most 500 entries in a window: each counts until the
-- last claim that it may stand for has left the window, so never too few are counted, and at most 1/500 too long.
-- The time is that of the statement, not of the transaction, which may have begun before another claim ended: so a lease
-- begins after all those that it had to count.
with room as materialized (
  select
    q.max_leased is not null as counted,
    q.rate_seconds * interval '1 second' / 500 as slot,
    least($2::integer, q.max_leased - leased.jobs, q.rate_jobs - claimed.jobs) as jobs
  from dibs.queues q
  cross join dibs.gates g
  cross join lateral (
    select count(*)::integer as jobs
    from (
      select
      from dibs.jobs
      where queue_id = $1
        and state = 'leased'
        and counted
        and lease_expires_at >= g.leases_from
      order by queue_id, lease_expires_at
      limit coalesce(q.max_leased, 0)
    ) as found
  ) as leased
  cross join lateral (
    select coalesce(sum(jobs), 0) as jobs
    from dibs.claimed
    where queue_id = $1 and until > statement_timestamp() - q.rate_seconds * interval '1 second'
  ) as claimed
  where q.id = $1 and g.queue_id = $1
),
ready as materialized (
  select job.*
  from unnest($8::smallint[], $9::bigint[], $10::smallint[]) as stretch (rank, position, last_rank)
  cross join lateral (
    select id, priority, position, payload_bytes
    from dibs.jobs
    where queue_id = $1
      and state = 'ready'
      and fairness_key is null
      and (-priority, position) > (stretch.rank, stretch.position)
      and -priority <= stretch.last_rank
      and (expires_at is null or expires_at > statement_timestamp())
      and (select not paused from dibs.queues where id = $1)
    order by queue_id, -priority, position
    limit (select greatest(coalesce(max(jobs), 0), 0) from room)
    for update skip locked
  ) as job
  limit (select greatest(coalesce(max(jobs), 0), 0) from room)
),
measured as (
  select
    id,
    row_number() over line as slot,
    sum(payload_bytes) over line - payload_bytes as bytes_before
  from ready
  window line as (order by -priority, position rows unbounded preceding)
),
picked as materialized (
  select
    array_agg(id order by id) as ids,
    array_agg(slot::integer order by id) as slots,
    array_agg(width_bucket(slot::integer, $4::integer[]) order by id) as consumers
  from measured
  where bytes_before < $3
),
logged as (
  insert into dibs.claimed (queue_id, until, jobs)
  select $1, date_bin(slot, statement_timestamp(), '2000-01-01T00:00:00Z') + slot, cardinality(ids)
  from picked
  cross join room
  where ids is not null and slot is not null
  on conflict (queue_id, until) do update set jobs = claimed.jobs + excluded.jobs
)
update dibs.jobs j
set
  counted = (select counted from room),
  state = 'leased',
  attempt = j.attempt + 1,
  deliveries = j.deliveries + 1,
  lease_token = encode(substring(sha256(
    uuid_send(($5::uuid[])[((select consumers from picked))[width_bucket(j.id, (select ids from picked))]])
      || uuid_send(j.id)
  ) for 16), 'hex')::uuid,
  lease_expires_at = statement_timestamp() + interval '1 second'
    * ($6::double precision[])[((select consumers from picked))[width_bucket(j.id, (select ids from picked))]],
  worker = ($7::text[])[((select consumers from picked))[width_bucket(j.id, (select ids from picked))]],
  claim_id = ($11::text[])[((select consumers from picked))[width_bucket(j.id, (select ids from picked))]],
  claim_holder = ($12::uuid[])[((select consumers from picked))[width_bucket(j.id, (select ids from picked))]]
where j.queue_id = $1
  and j.id = any ((select ids from picked)::uuid[])
  and j.id between (select ids[1] from picked) and (select ids[cardinality(ids)] from picked)
returning
  ((select slots from picked))[width_bucket(j.id, (select ids from picked))] as slot,
  j.position,
  j.id, j.priority, j.attempt, j.max_attempts, j.deliveries, j.run_at, j.created_at,
  j.lease_token, j.lease_expires_at, j.worker, j.last_error,
  j.group_key as "group", j.fairness_key, j.unique_key, j.headers, j.progress, j.payload;
