-- Leases the first jobs of one queue that has fairness keys. Within one priority the keys take turns. Jobs without a
-- key take turns as one more key.
-- A rank is a negated priority. :cursor_keys tells which key was served last in each of the ranks :cursor_ranks. The
-- key after it comes first.
-- All other parameters are as in claim/plain.sql. If :holds_lock is true, it is used as claim/limited.sql is.
-- One probe of the index jobs_fair finds the next key. One probe finds each further job of a key. So a claim costs as
-- much as it returns, and one probe for each key whose jobs are locked by other claims right now.
-- `cut` is true if it leased fewer jobs than asked for, and yet there may be more: other claims had locked jobs that it
-- counted. `ms` is how long the search took. Probes pass over dead index entries, too: see src/claim/keySearch.ts.
with recursive any_ready (found) as materialized (values (true)),
-- include shared/claim_allowance.sql
-- The priorities in use, the highest first. Each has
--   slots           what the priorities before it leave
--   cursor          the key that was served last
--   floor, ceiling  where the jobs without a key are scanned: after `floor`, up to `ceiling`
-- The first row (rank -101) is of no priority: the search begins there.
used (rank, slots, cursor, floor, ceiling) as (
  select -101, slots, null::text collate "C", null::bigint, null::bigint
  from wanted
  where is_open
  union all
  select
    next.rank,
    used.slots - ahead.jobs,
    coalesce((:cursor_keys::text[])[array_position(:cursor_ranks::integer[], next.rank)], '') collate "C",
    coalesce((:positions::bigint[])[array_position(:ranks::integer[], next.rank)], -1),
    case
      when next.rank = (:last_ranks::integer[])[cardinality(:last_ranks::integer[])]
        then (:last_positions::bigint[])[cardinality(:last_positions::bigint[])]
      when next.rank > (:last_ranks::integer[])[cardinality(:last_ranks::integer[])] then -1
      else 9223372036854775807
    end
  from used
  cross join lateral (
    select min(rank) as rank
    from (
      (
        select -priority as rank
        from dibs.jobs
        where queue_id = :queue_id and state = 'ready' and fairness_key is not null
          and -priority > used.rank
        order by queue_id, -priority, fairness_key, position
        limit 1
      )
      union all
      (
        select job.rank
        from unnest(:ranks::integer[], :positions::bigint[], :last_ranks::integer[], :last_positions::bigint[])
          as range (rank, position, last_rank, last_position)
        cross join lateral (
          select -priority as rank
          from dibs.jobs
          where queue_id = :queue_id and state = 'ready' and fairness_key is null
            and (-priority, position) > (
              greatest(range.rank, used.rank),
              case when range.rank > used.rank then range.position else 9223372036854775807 end
            )
            and (-priority, position) <= (range.last_rank, range.last_position)
          order by queue_id, -priority, position
          limit 1
        ) as job
        where range.last_rank > used.rank
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
        where queue_id = :queue_id and state = 'ready' and fairness_key is not null
          and -priority = used.rank
        order by queue_id, -priority, fairness_key, position
        limit used.slots
      )
      union all
      (
        select
        from dibs.jobs
        where queue_id = :queue_id and state = 'ready' and fairness_key is null
          and -priority = used.rank and position > used.floor and position <= used.ceiling
        order by queue_id, -priority, position
        limit used.slots
      )
      limit used.slots
    ) as found
  ) as ahead
  where next.rank is not null
),
taken as materialized (
  select job.*
  from used
  cross join lateral (
    -- The keys in their turns, and the position of the first job of each. Lap 0: the keys after the cursor. Lap 1:
    -- first the jobs without a key (the key is '' then), and after them the other keys, up to the cursor.
    with recursive walk (no, lap, key, position) as (
      select 0, 0, used.cursor, null::bigint
      union all
      select walk.no + (next.position is not null)::integer, next.lap, next.key, next.position
      from walk
      cross join lateral (
        select walk.lap, found.key, found.position
        from (
          select fairness_key as key, position
          from dibs.jobs
          where queue_id = :queue_id and state = 'ready' and fairness_key is not null
            and -priority = used.rank and fairness_key > walk.key
          order by queue_id, -priority, fairness_key, position
          limit 1
        ) as found
        where walk.lap = 0 or found.key <= used.cursor
        union all
        select 1, '', (
          select position
          from dibs.jobs
          where queue_id = :queue_id and state = 'ready' and fairness_key is null
            and -priority = used.rank and position > used.floor and position <= used.ceiling
          order by queue_id, -priority, position
          limit 1
        )
        where walk.lap = 0
        limit 1
      ) as next
    ),
    -- How many jobs each key gives. Jobs that other claims have locked count, too.
    -- First: the turns that all keys can have. With 10 slots and 3 keys, each gives up to 3 jobs.
    full_turns (keys, jobs) as materialized (
      select count(*), used.slots / nullif(count(*), 0)
      from (select from walk where position is not null limit used.slots) as key
    ),
    given (no, key, jobs, position) as materialized (
      select walk.no, walk.key, first.*
      from walk
      cross join lateral (
        select count(*), max(position)
        from (
          select position
          from (
            select position
            from dibs.jobs
            where queue_id = :queue_id and state = 'ready' and fairness_key is not null
              and -priority = used.rank and fairness_key = walk.key
            order by queue_id, -priority, fairness_key, position
            limit (select jobs from full_turns)
          ) as with_key
          where walk.key <> ''
          union all
          select position
          from (
            select position
            from dibs.jobs
            where queue_id = :queue_id and state = 'ready' and fairness_key is null
              and -priority = used.rank and position > used.floor and position <= used.ceiling
            order by queue_id, -priority, position
            limit (select jobs from full_turns)
          ) as plain
          where walk.key = ''
        ) as job
      ) as first
      where walk.position is not null
      limit (select keys from full_turns)
    ),
    -- Then: one job at a time from the keys that have more, until no slot is left. In the example: 1 job, or more if a
    -- key had fewer than 3.
    turn (no, key, position, is_further) as (
      select no, key, position, false from given where jobs = (select jobs from full_turns)
      union all
      select turn.no, turn.key, next.position, true
      from turn
      cross join lateral (
        select position
        from (
          select position
          from dibs.jobs
          where queue_id = :queue_id and state = 'ready' and fairness_key is not null
            and -priority = used.rank and fairness_key = turn.key and position > turn.position
          order by queue_id, -priority, fairness_key, position
          limit 1
        ) as with_key
        where turn.key <> ''
        union all
        select position
        from (
          select position
          from dibs.jobs
          where queue_id = :queue_id and state = 'ready' and fairness_key is null
            and -priority = used.rank and position > turn.position and position <= used.ceiling
          order by queue_id, -priority, position
          limit 1
        ) as plain
        where turn.key = ''
      ) as next
    ),
    share (jobs, cut) as materialized (
      select array_agg(jobs order by no), coalesce(sum(jobs), 0) = used.slots
      from (
        select no, sum(jobs)::integer as jobs
        from (
          select no, jobs from given
          union all
          (
            select no, 1
            from turn
            where is_further
            limit (select used.slots - sum(jobs) from given)
          )
        ) as counted
        group by no
      ) as key
    )
    select used.rank, walk.no, walk.key, (select cut from share) as cut, job.*
    from walk
    cross join lateral (
      select *
      from (
        select
          id, position, group_key,
          -- include shared/job_bytes.sql
          as bytes
        from dibs.jobs
        where queue_id = :queue_id and state = 'ready' and fairness_key is not null
          and -priority = used.rank and fairness_key = walk.key
          and (expires_at is null or expires_at > statement_timestamp())
        order by queue_id, -priority, fairness_key, position
        limit coalesce((select jobs from share)[walk.no], 1)
        for update skip locked
      ) as with_key
      where walk.key <> ''
      union all
      select *
      from (
        select
          id, position, group_key,
          -- include shared/job_bytes.sql
          as bytes
        from dibs.jobs
        where queue_id = :queue_id and state = 'ready' and fairness_key is null
          and -priority = used.rank and position > used.floor and position <= used.ceiling
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
ready as materialized (
  select *, row_number() over (partition by rank, no order by position) as turn
  from taken
),
-- include shared/claim_firsts.sql line=rank,turn,no
measured as (
  -- include shared/claim_measured.sql of=line_up id=given_id bytes=given_bytes
  window line as (order by rank, turn, no rows unbounded preceding)
),
-- include shared/claim_leased.sql
select
  leased.*,
  (select bool_or(cut) from taken) as cut,
  -- include shared/claim_ms.sql
  as ms,
  -- include shared/claim_stand_ins.sql
  ,
  -- include shared/claim_passed.sql
;
