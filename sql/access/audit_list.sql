-- A page of audit rows, newest first. It orders by the column, not by its text of the same name: that order is another one, and
-- no index has it. Planned at each call, so that filters that are not set vanish from the plan.
select
  id::text as id, created_at, actor, actor_id, verb, queue, job_id, schedule, key_id, database, count, outcome, address,
  request_id, details
from dibs.audit
where (:after::bigint is null or id < :after)
  and (:actor::text is null or actor = :actor)
  and (:verb::text is null or verb = :verb)
  and (:queue::text is null or queue = :queue)
  and (:created_after::timestamptz is null or created_at >= :created_after)
  and (:created_before::timestamptz is null or created_at < :created_before)
order by audit.id desc
limit :limit;
