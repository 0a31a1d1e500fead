-- The rest of a claim that may leave ready jobs (claim_firsts.sql), after `select`: beside each job that was `leased`, the first one
-- that was left. If only some were left, there is one row without a job. While the queue narrows, `crowded` has their groups.
passed.rank as passed_rank,
passed.position as passed_position,
case when (select most_running from wanted) is not null then (
  select array_agg(group_key) from ready where group_key is not null and id not in (select found_id from firsts)
) end as crowded
from (values (true)) as one (row)
left join leased on true
left join passed on true
where leased.id is not null or passed.rank is not null
