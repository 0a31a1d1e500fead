-- Leases the first jobs of one queue to several consumers at once, in their order: $2 rows in all, consumer i taking
-- the slots first[i] to last[i]; it stops before $3 bytes of payload are exceeded (but for the first row).
-- $9, $10, $11 are the stretches of the queue's order to scan: see src/floor.ts.
-- The ids pass through an array, so that the planner always comes back by primary key: as a join with a LIMIT of
-- unknown size, a generic plan became a hash join over the whole queue (4.9 ms and 25,000 rows against 0.07 ms).
-- The inner LIMIT hides its number from the planner, which then counts on a tenth of the rows and always walks the
-- index in its order; knowing it, and with stale statistics, it would sort the whole queue.
-- A token is unguessable and belongs to one lease: a hash over the consumer's nonce and the job's id.
update dibs.jobs j
set
  state = 'leased',
  attempt = j.attempt + 1,
  deliveries = j.deliveries + 1,
  lease_token = encode(substring(sha256(uuid_send(consumer.nonce) || uuid_send(j.id)) for 16), 'hex')::uuid,
  lease_expires_at = now() + consumer.lease_seconds * interval '1 second',
  worker = consumer.worker
from
  unnest(array(
    select id
    from (
      select
        id,
        sum(payload_bytes) over (order by -priority, position rows unbounded preceding) - payload_bytes
          as bytes_before
      from (
        select job.*
        from unnest($9::smallint[], $10::bigint[], $11::smallint[]) as stretch (rank, position, last_rank)
        cross join lateral (
          select id, priority, position, payload_bytes
          from dibs.jobs
          where queue_id = $1
            and state = 'ready'
            and (-priority, position) > (stretch.rank, stretch.position)
            and -priority <= stretch.last_rank
            and (select not paused from dibs.queues where id = $1)
          order by queue_id, -priority, position
          limit (select $2::integer)
          for update skip locked
        ) as job
        limit $2
      ) as ready
    ) as measured
    where bytes_before < $3
    order by bytes_before
  )) with ordinality as picked (id, slot),
  unnest($4::integer[], $5::integer[], $6::uuid[], $7::double precision[], $8::text[])
    as consumer (first, last, nonce, lease_seconds, worker)
where j.queue_id = $1
  and j.id = picked.id
  and picked.slot between consumer.first and consumer.last
returning
  picked.slot::integer as slot, j.position,
  j.id, j.state, j.priority, j.attempt, j.max_attempts, j.deliveries, j.run_at, j.created_at,
  j.lease_token, j.lease_expires_at, j.finished_at, j.worker, j.last_error,
  j.headers, j.progress, j.result, j.payload;
