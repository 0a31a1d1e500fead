-- Of each group, a claim gets one job at most, and that is the first ready one of the group. The job that the claim found (`found`)
-- may come later in its group: it is more urgent, or of another fairness key, or the first one came back. Then the first one takes its
-- place in the line.
-- If another claim has locked the first one, this claim gets none of the group. `passed` is the first job that the claim found
-- and leaves ready. `line_up` has the jobs that it may have.
-- Where a group may have one head (`has_one_head`), the jobs found are the first ones, and no group is looked at.
firsts as materialized (
  select found.id as found_id, head.id, head.bytes
  from (
    select distinct on (group_key) id, group_key
    from ready
    where not (select has_one_head from wanted) and group_key is not null
    order by group_key, rank, position
  ) as found
  cross join lateral (
    select
      id,
      -- include shared/job_bytes.sql
      as bytes
    from dibs.jobs
    where queue_id = :queue_id
      and id = (
        select id
        from (
          select id, position, leased_at
          from dibs.jobs
          where queue_id = :queue_id and group_key = found.group_key and dibs.by_index(is_head) and state::text = 'ready'
            and (expires_at is null or expires_at > statement_timestamp())
          order by queue_id, group_key, head_place
        ) as head
        order by
          -- include shared/group_order.sql of=head
        limit 1
      )
      and state::text = 'ready'
    for update skip locked
  ) as head
),
passed as materialized (
  select rank, position
  from ready
  where not (select has_one_head from wanted) and group_key is not null and id not in (select id from firsts)
  order by rank, position
  limit 1
),
line_up as materialized (
  select
    ready.*,
    coalesce(firsts.id, ready.id) as given_id,
    coalesce(firsts.bytes, ready.bytes) as given_bytes
  from ready
  left join firsts on firsts.found_id = ready.id
  where (select has_one_head from wanted) or group_key is null or firsts.id is not null
),
