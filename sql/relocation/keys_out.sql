-- In the source: the next :limit records of idempotency keys whose first job is in a queue, behind the place :after, and the last
-- place.
select
  coalesce(json_agg(k.kept), '[]')::text as rows,
  (array_agg(k.route order by k.route desc, k.key desc))[1] as last_route,
  (array_agg(k.key order by k.route desc, k.key desc))[1] as last_key,
  count(*)::integer as count
from (
  select kept.route, kept.key, kept
  from dibs.idempotency_keys kept
  where (kept.jobs[1]).queue = :queue
    and (kept.route, kept.key) > (:after_route::text, :after_key::text)
    and kept.expires_at > now()
  order by kept.route, kept.key
  limit (select :limit::integer)
) as k;
