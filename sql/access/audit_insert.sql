-- Writes audit rows, in the order given.
insert into dibs.audit (actor, actor_id, verb, queue, job_id, schedule, key_id, database, count, outcome, address, request_id, details)
select *
from unnest(
  :actors::text[], :actor_ids::text[], :verbs::text[], :queues::text[], :job_ids::uuid[], :schedules::text[],
  :key_ids::text[], :databases::text[], :counts::bigint[], :outcomes::text[], :addresses::text[], :request_ids::text[],
  :details::json[]
);
