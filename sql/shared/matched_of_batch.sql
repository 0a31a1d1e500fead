-- The ids of up to :limit jobs of a batch, in the {order} of their ids, {beyond} :after. It reads the index jobs_batch, state by state.
select j.queue_id, j.id
from unnest(
  case
    when :state::dibs.job_state is null then enum_range(null::dibs.job_state)
    else array[:state::dibs.job_state]
  end
) as one (state)
cross join lateral (
  select queue_id, id
  from dibs.jobs
  where batch_id = :batch
    and state = one.state
    and (:after::uuid is null or id {beyond} :after)
    and (
      :queue::text is null and :visible::text[] is null
      or queue_id in (
        select q.id
        from dibs.queues q
        where (:queue::text is null or q.name = :queue) and (:visible::text[] is null or q.name like any (:visible))
      )
    )
  order by batch_id {order}, state {order}, id {order}
  limit (select :limit::integer)
) as j
order by j.id {order}
limit :limit;
