-- The leases of the queue, or of the visible queues, that are asked for. The bounds and BETWEEN are for the planner: see counts.sql.
state = 'leased'
and lease_expires_at between (select '-infinity'::timestamptz) and (select 'infinity'::timestamptz)
and (
  :queue::text is null and :visible::text[] is null
  or queue_id = any (array(
    select id
    from dibs.queues
    where (:queue is null or name = :queue) and (:visible is null or name like any (:visible))
  ))
)
