-- What claims need to know of the groups of a queue: see claim_firsts.sql.
group_concurrency = 1 and not is_narrowing as has_one_head,
group_batches,
case when is_narrowing then group_concurrency end as most_running
