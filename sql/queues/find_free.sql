-- Notes which of the 10,000 numbers after :after no queue has: those that were deleted by an older Dibs, and those
-- whose creation was undone. Numbers of transactions that are open now are noted, too. They are looked at again before
-- they are used.
insert into dibs.free_queue_ids (queue_id)
select number
from generate_series(
  :after::integer + 1,
  (select least(:after::integer + 10000, last_value)::integer from dibs.queue_ids)
) as number
where not exists (select from dibs.queues where id = number)
  and not exists (select from dibs.placements where queue_id = number)
on conflict do nothing
returning queue_id;
