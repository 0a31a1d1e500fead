-- Leases jobs of a queue with fairness keys, as claim/fair.sql does, but from the front of the queue only. The front is
-- the first jobs in the order of arrival, from the scan floors up, with and without a fairness key. Within one priority
-- the keys take turns among these jobs. If the front holds all ready jobs, both statements lease the same jobs in the
-- same order.
-- It reads a bounded number of index entries: see src/claim/keySearch.ts.
-- It returns beside each job
--   first_rank, first_position  where the first job with a key stands, also if another claim has locked that job
--   holds_all                   whether the front holds all jobs of the ranges
--   ms                          how long the search took
-- Jobs without a key are scanned in the ranges :ranks to :last_positions, jobs with one in the ranges :fair_ranks to
-- :fair_last_positions (src/floor/scanRanges.ts).
with any_ready (found) as materialized (values (true)),
-- include shared/claim_allowance.sql
size as materialized (
  select case when is_open and slots > 0 then 4000 + slots else 0 end as jobs from wanted
),
front (id, rank, key, position) as materialized (
  select *
  from (
    select job.*
    from unnest(
      :fair_ranks::smallint[],
      :fair_positions::bigint[],
      :fair_last_ranks::smallint[],
      :fair_last_positions::bigint[]
    ) as range (rank, position, last_rank, last_position)
    cross join lateral (
      select id, -priority, fairness_key, position
      from dibs.jobs
      where queue_id = :queue_id
        and dibs.by_index(state = 'ready')
        and fairness_key is not null
        and (-priority, position) > (range.rank, range.position)
        and (-priority, position) <= (range.last_rank, range.last_position)
        and (expires_at is null or expires_at > statement_timestamp())
      order by queue_id, -priority, position
      limit (select jobs from size)
    ) as job
    limit (select jobs from size)
  ) as with_key
  union all
  select *
  from (
    select job.*
    from unnest(:ranks::smallint[], :positions::bigint[], :last_ranks::smallint[], :last_positions::bigint[])
      as range (rank, position, last_rank, last_position)
    cross join lateral (
      select id, -priority, ''::text collate "C", position
      from dibs.jobs
      where
        -- include shared/ready_in_range.sql
      order by queue_id, -priority, position
      limit (select jobs from size)
    ) as job
    limit (select jobs from size)
  ) as plain
),
first_with_key as materialized (
  select rank, position from front where key <> '' order by rank, position limit 1
),
-- Lap 0: the keys after the one that was served last. Lap 1: first the jobs without a key, and then the other keys.
in_turn as materialized (
  select
    id,
    rank,
    row_number() over (partition by rank, key order by position) as turn,
    (
      key <= coalesce((:cursor_keys::text[])[array_position(:cursor_ranks::integer[], rank)], '') collate "C"
    )::integer as lap,
    key
  from front
),
ready as materialized (
  select asked.rank, asked.turn, asked.lap, asked.key, job.*
  from (select * from in_turn order by rank, turn, lap, key) as asked
  cross join lateral (
    select
      id, position, group_key,
      -- include shared/job_bytes.sql
      as bytes
    from dibs.jobs
    where queue_id = :queue_id
      and id = asked.id
      and state = 'ready'
      and (expires_at is null or expires_at > statement_timestamp())
    for update skip locked
  ) as job
  limit (select slots from wanted)
),
-- include shared/claim_firsts.sql line=rank,turn,lap,key
measured as (
  -- include shared/claim_measured.sql of=line_up id=given_id bytes=given_bytes
  window line as (order by rank, turn, lap, key rows unbounded preceding)
),
-- include shared/claim_leased.sql
select
  leased.*,
  (select rank from first_with_key) as first_rank,
  (select position from first_with_key) as first_position,
  (select count(*) from front) < (select jobs from size) as holds_all,
  -- include shared/claim_ms.sql
  as ms,
  -- include shared/claim_stand_ins.sql
  ,
  -- include shared/claim_passed.sql
;
