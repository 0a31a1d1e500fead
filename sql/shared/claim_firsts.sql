-- A claim gets one job of a group at most. Where a group may have several heads, this has the first of each, and `passed` the
-- first of the others, which stay ready. Where it may have one (`has_one_head`), neither is evaluated.
firsts as materialized (
  select distinct on (group_key) id
  from ready
  where group_key is not null
  order by group_key, rank, position
),
passed as materialized (
  select rank, position
  from ready
  where not (select has_one_head from wanted) and group_key is not null and id not in (select id from firsts)
  order by rank, position
  limit 1
),
