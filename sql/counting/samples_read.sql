-- The samples of the last :minutes, a point for each :step minutes, and one before: what happened is the difference of
-- two points.
-- A minute in which nothing moved has no samples. So a point has the last ones of its minutes, and the point before may
-- be older.
select distinct on (s.queue_id, at)
  (ceil(extract(epoch from s.minute) / 60 / :step::integer) * 60 * :step)::double precision as at, s.queue_id, q.name,
  s.ready, s.waiting, s.leased, s.dead, s.oldest_ready_seconds, s.enqueued, s.acked, s.failed, s.died
from dibs.samples s
left join dibs.queues q on q.id = s.queue_id
where s.minute >= coalesce(
    (select max(minute) from dibs.samples where minute <= now() - (:minutes::integer + :step) * interval '1 minute'),
    '-infinity'
  )
  and ceil(extract(epoch from s.minute) / 60 / :step) * 60 * :step <= extract(epoch from now())
  and (:queue::text is null or q.name = :queue)
  and (:visible::text[] is null or q.name like any (:visible))
order by s.queue_id, at, s.minute desc;
