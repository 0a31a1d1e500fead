-- Two heads of a group cannot be; and the first job that waits behind one is found by one probe. See
-- docs/decisions/0014-groups.md.

-- The condition itself. Its price, which nobody pays who goes by an index with this condition, keeps the planner from all
-- other indexes. Beside a bare `state = 'blocked'`, as long as it took the queue for a small one, it read all that was
-- blocked for each group, because the other index had shorter keys (3 s for 1000 groups).
create function dibs.by_index(condition boolean)
returns boolean
language plpgsql immutable parallel safe cost 10000
as 'begin return condition; end';
revoke all on function dibs.by_index from public;

-- That there is a group is asked first, so that jobs of none never come to the function.
create unique index jobs_head on dibs.jobs (queue_id, group_key)
  where group_key is not null and dibs.by_index(is_head);
create index jobs_blocked on dibs.jobs (queue_id, group_key, position)
  where group_key is not null and dibs.by_index(state = 'blocked');
