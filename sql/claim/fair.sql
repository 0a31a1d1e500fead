-- Leases the first jobs of one queue in which jobs have fairness keys: within one priority the keys take turns, and the
-- jobs without a key take theirs as one key more. $13 and $14 say, for ranks (negated priorities), which key was served
-- last: the next turn is that of the key behind it. Everything else is as in claim.sql, where $1 to $12 are explained.
-- $15 says that the statement stands behind claim_gate.sql, without which a queue that limits its claims gives nothing; what
-- they leave is found as in claim_limited.sql.
-- A key is found by one probe of jobs_fair behind the key before it, and so is each job that a key has besides its
-- first; so a claim costs what it returns, and a probe for each key whose jobs others are claiming at this moment.
-- `cut` says that there may be more although there were fewer than asked for: others held what was counted on.
with recursive room as materialized (
  select
    q.max_leased is not null as counted,
    q.rate_seconds * interval '1 second' / 500 as slot,
    case
      when q.max_leased is null and q.rate_jobs is null then $2::integer
      when $15::boolean and g.queue_id is not null
        then greatest(0, least($2::integer, q.max_leased - leased.jobs, q.rate_jobs - claimed.jobs))
      else 0
    end as jobs
  from dibs.queues q
  left join dibs.gates g on g.queue_id = $1
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
  where q.id = $1
),
wanted as materialized (
  -- The only place where the number of slots stands.
  select coalesce(max(jobs), 0)::integer as slots from room
),
-- The priorities in use, higher first; beside each the slots that those before it leave, the key served last, and the
-- floor of the jobs without a key.
level (rank, slots, cursor, floor) as (
  select -101, slots, null::text collate "C", null::bigint
  from wanted
  where (select not paused from dibs.queues where id = $1)
  union all
  select
    next.rank,
    level.slots - ahead.jobs,
    coalesce(($14::text[])[array_position($13::integer[], next.rank)], '') collate "C",
    coalesce(($9::bigint[])[array_position($8::integer[], next.rank)], -1)
  from level
  cross join lateral (
    select min(rank) as rank
    from (
      (
        select -priority as rank
        from dibs.jobs
        where queue_id = $1 and state = 'ready' and fairness_key is not null
          and -priority > level.rank
        order by queue_id, -priority, fairness_key, position
        limit 1
      )
      union all
      (
        select job.rank
        from unnest($8::integer[], $9::bigint[], $10::integer[]) as stretch (rank, position, last_rank)
        cross join lateral (
          select -priority as rank
          from dibs.jobs
          where queue_id = $1 and state = 'ready' and fairness_key is null
            and (-priority, position) > (
              greatest(stretch.rank, level.rank),
              case when stretch.rank > level.rank then stretch.position else 9223372036854775807 end
            )
            and -priority <= stretch.last_rank
          order by queue_id, -priority, position
          limit 1
        ) as job
        where stretch.last_rank > level.rank
        limit 1
      )
    ) as found
  ) as next
  cross join lateral (
    select count(*)::integer as jobs
    from (
      (
        select
        from dibs.jobs
        where queue_id = $1 and state = 'ready' and fairness_key is not null
          and -priority = level.rank
        order by queue_id, -priority, fairness_key, position
        limit level.slots
      )
      union all
      (
        select
        from dibs.jobs
        where queue_id = $1 and state = 'ready' and fairness_key is null
          and -priority = level.rank and position > level.floor
        order by queue_id, -priority, position
        limit level.slots
      )
      limit level.slots
    ) as found
  ) as ahead
  where next.rank is not null
),
taken as materialized (
  select job.*
  from level
  cross join lateral (
    -- The keys in their turns, and the position of the first job of each: from behind the cursor to the end (lap 0), then
    -- the jobs without a key, then from the beginning up to the cursor (lap 1).
    with recursive walk (no, lap, key, position) as (
      select 0, 0, level.cursor, null::bigint
      union all
      select walk.no + (next.position is not null)::integer, next.lap, next.key, next.position
      from walk
      cross join lateral (
        select walk.lap, found.key, found.position
        from (
          select fairness_key as key, position
          from dibs.jobs
          where queue_id = $1 and state = 'ready' and fairness_key is not null
            and -priority = level.rank and fairness_key > walk.key
          order by queue_id, -priority, fairness_key, position
          limit 1
        ) as found
        where walk.lap = 0 or found.key <= level.cursor
        union all
        select 1, '', (
          select position
          from dibs.jobs
          where queue_id = $1 and state = 'ready' and fairness_key is null
            and -priority = level.rank and position > level.floor
          order by queue_id, -priority, position
          limit 1
        )
        where walk.lap = 0
        limit 1
      ) as next
    ),
    -- Jobs turn by turn, whoever holds them: how many each key gives.
    turn (no, key, position) as (
      select no, key, position from walk where position is not null
      union all
      select turn.no, turn.key, next.position
      from turn
      cross join lateral (
        select position
        from (
          select position
          from dibs.jobs
          where queue_id = $1 and state = 'ready' and fairness_key is not null
            and -priority = level.rank and fairness_key = turn.key and position > turn.position
          order by queue_id, -priority, fairness_key, position
          limit 1
        ) as keyed
        where turn.key <> ''
        union all
        select position
        from (
          select position
          from dibs.jobs
          where queue_id = $1 and state = 'ready' and fairness_key is null
            and -priority = level.rank and position > turn.position
          order by queue_id, -priority, position
          limit 1
        ) as plain
        where turn.key = ''
      ) as next
    ),
    share (jobs, cut) as materialized (
      select array_agg(jobs order by no), coalesce(sum(jobs), 0) = level.slots
      from (
        select no, count(*) as jobs from (select no from turn limit level.slots) as counted group by no
      ) as key
    )
    select level.rank, walk.no, (select cut from share) as cut, job.*
    from walk
    cross join lateral (
      select *
      from (
        select id, position, payload_bytes
        from dibs.jobs
        where queue_id = $1 and state = 'ready' and fairness_key is not null
          and -priority = level.rank and fairness_key = walk.key
          and (expires_at is null or expires_at > statement_timestamp())
        order by queue_id, -priority, fairness_key, position
        limit coalesce((select jobs from share)[walk.no], 1)
        for update skip locked
      ) as keyed
      where walk.key <> ''
      union all
      select *
      from (
        select id, position, payload_bytes
        from dibs.jobs
        where queue_id = $1 and state = 'ready' and fairness_key is null
          and -priority = level.rank and position > level.floor
          and (expires_at is null or expires_at > statement_timestamp())
        order by queue_id, -priority, position
        limit coalesce((select jobs from share)[walk.no], 1)
        for update skip locked
      ) as plain
      where walk.key = ''
    ) as job
    where walk.position is not null
  ) as job
  limit (select slots from wanted)
),
ready as (
  select *, row_number() over (partition by rank, no order by position) as turn
  from taken
),
measured as (
  select
    id,
    row_number() over line as slot,
    sum(payload_bytes) over line - payload_bytes as bytes_before
  from ready
  window line as (order by rank, turn, no rows unbounded preceding)
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
  j.group_key as "group", j.fairness_key, j.unique_key, j.headers, j.progress, j.payload,
  (select bool_or(cut) from taken) as cut;
