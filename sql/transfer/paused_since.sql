-- Groups of these queues that were paused or resumed since an import had put the queues in.
select q.id as queue_id, q.group_concurrency, changed.group_key as "group", changed.is_paused
from json_to_recordset(:lines::json) as line (name text, paused_groups text[])
join dibs.queues q on q.name = line.name
cross join lateral (
  select group_key, true as is_paused
  from unnest(q.paused_groups) as since (group_key)
  where group_key <> all (coalesce(line.paused_groups, '{}'))
  union all
  select group_key, false
  from unnest(line.paused_groups) as earlier (group_key)
  where group_key <> all (q.paused_groups)
) as changed;
