-- Leases the first jobs of one queue to several consumers at once, in their order: $2 rows in all, consumer i taking
-- the slots from first[i] on, $4 ascending from 1; it stops before $3 bytes of payload are exceeded (but for the first row).
-- $8, $9, $10 are the stretches of the queue's order to scan: see src/floor.ts.
-- The ids pass through an array, and nothing is joined, so that the planner always comes back by primary key: as a join,
-- a plan made while the queue was empty became a hash join over all of it (200,000 rows for 1), or compared each
-- slot with each job (300 ms for 1000).
-- The limit is hidden from the planner in a sub-select: one larger than the queue seemed to be, by statistics from before
-- a burst, made it fetch and sort all of the queue first (30,000 rows for 100).
-- A queue that limits its claims gives nothing here, to a replica that has not heard of it yet: see claim_limited.sql.
-- $11 and $12 name the claims of those consumers who want to repeat them, and who holds them; null when nobody does.
-- The time is that of the statement: a round's transaction may have begun before another one, of another replica, ended the
-- last lease of a job, and two leases of a job must not overlap.
-- A token is unguessable and belongs to one lease: a hash over the consumer's nonce and the job's id.
with ready as materialized (
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
      and (select not paused and max_leased is null and rate_jobs is null from dibs.queues where id = $1)
    order by queue_id, -priority, position
    limit (select $2::integer)
    for update skip locked
  ) as job
  limit (select $2::integer)
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
)
update dibs.jobs j
set
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
