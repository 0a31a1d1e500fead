-- The samples of the last :minutes, of each :step-th minute, and one before: what happened is the difference of two rows.
select
  extract(epoch from s.minute)::double precision as at, s.queue_id, q.name,
  s.ready, s.waiting, s.leased, s.dead, s.oldest_ready_seconds, s.enqueued, s.acked, s.failed, s.died
from dibs.samples s
left join dibs.queues q on q.id = s.queue_id
where s.minute > now() - (:minutes::integer + :step::integer) * interval '1 minute'
  and extract(epoch from s.minute)::bigint / 60 % :step = 0
  and (:queue::text is null or q.name = :queue)
  and (:visible::text[] is null or q.name like any (:visible))
order by s.queue_id, s.minute;
