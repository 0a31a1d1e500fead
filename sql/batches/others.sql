-- A queue with waiting jobs of a batch, that is like none of the patterns :visible.
select q.name
from dibs.queues q
where q.name not like all (:visible::text[])
  and exists (
    select
    from dibs.jobs j
    where j.batch_id = :id and j.state in ('scheduled', 'ready', 'blocked') and j.queue_id = q.id
  )
order by q.name
limit 1;
