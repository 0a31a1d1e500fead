-- The places, from 1, of those keys in the arrays that have a record, even one that has expired.
select asked.n
from unnest(:routes::text[], :keys::text[]) with ordinality as asked (route, key, n)
cross join lateral (
  select
  from dibs.idempotency_keys k
  where k.route = asked.route and k.key = asked.key
  order by k.route, k.key
  limit 1
) as held;
