-- Whether a batch has waiting jobs in a queue that is like none of the patterns :visible.
select exists (
  select
  from dibs.queues q
  where q.name not like all (:visible::text[])
    and exists (
      select
      from dibs.jobs j
      where j.batch_id = :id and j.state in ('scheduled', 'ready', 'blocked') and j.queue_id = q.id
    )
) as has_others;
