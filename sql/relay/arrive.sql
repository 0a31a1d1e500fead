-- In the queue's own database: notes that a parcel has arrived, in the transaction that inserts its jobs. `is_new` is false for
-- one that arrived before. `there`: those of its jobs that are here already, under another number: the source was set back in
-- time. No row comes back when the queue is gone.
with queue as materialized (
  select id from dibs.queues where id = :queue_id for key share
),
arrived as (
  insert into dibs.relay_arrivals as last (queue_id, source, number)
  select id, :source, :number
  from queue
  on conflict (queue_id, source) do update
  set number = excluded.number
  where last.number < excluded.number
  returning number
)
select
  exists (select from arrived) as is_new,
  array(
    select j.id
    from dibs.jobs j
    where
      -- include shared/batch_by_id.sql
  ) as there
from queue;
