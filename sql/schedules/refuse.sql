-- Lets schedules rest whose ticks were refused: 0.2 s, then twice as long each time, up to a minute. One that has
-- changed since it was read stays as it is.
with refused as materialized (
  select s.name, line.error
  from unnest(:names::text[], :revisions::uuid[], :errors::text[]) as line (name, revision, error)
  join dibs.schedules s on s.name = line.name and s.revision = line.revision
  order by s.name
  for no key update of s skip locked
)
update dibs.schedules s
set
  refusals = s.refusals + 1,
  last_error = refused.error,
  retry_at = now() + dibs.backoff_seconds(
    '{"kind": "exponential", "base_seconds": 0.2, "max_seconds": 60, "jitter": 0.2}', s.refusals + 1, random()
  ) * interval '1 second',
  revision = gen_random_uuid()
from refused
where s.name = refused.name
returning s.name;
