-- Of each group, a claim gets the first ready jobs: as many as it found, and at most `group_batches`, which is 1 in most queues. The
-- jobs that it found (`found`) may come later in their group: they are more urgent, or of another fairness key, or the first one came
-- back. Then the first ones take their places in the line.
-- If another claim has locked one of them, this claim gets none of those behind it. `passed` is the first job that the claim found
-- and leaves ready. `line_up` has the jobs that it may have.
-- While the queue narrows, a group may have more ready heads than it allows. Then a claim gets no more than may begin beside those
-- that have begun: `most_running` is null otherwise. Two claims may count the same ones. But both want the same first job.
-- Where a group may have one head (`has_one_head`), the jobs found are the first ones, and no group is looked at.
firsts as materialized (
  select head.*
  from (
    select group_key, array_agg(id order by {line}) as ids
    from ready
    where not (select has_one_head from wanted) and group_key is not null
    group by group_key
  ) as found
  cross join lateral (
    select found.ids[no] as found_id, id, bytes
    from (
      select asked.no, job.id, job.bytes, row_number() over (order by asked.no) as locked_no
      from (
        select
          id,
          row_number() over (
            order by
              -- include shared/group_order.sql of=head
          ) as no
        from (
          select id, position, leased_at
          from dibs.jobs
          where queue_id = :queue_id and group_key = found.group_key and dibs.by_index(is_head) and state::text = 'ready'
            and (expires_at is null or expires_at > statement_timestamp())
          order by queue_id, group_key, head_place
        ) as head
        order by no
        limit least(
          (select group_batches from wanted),
          cardinality(found.ids),
          case when (select most_running from wanted) is not null then greatest(
            0,
            (select most_running from wanted) - (
              select count(*)
              from (
                select state
                from dibs.jobs
                where queue_id = :queue_id and group_key = found.group_key and dibs.by_index(is_head)
                order by queue_id, group_key, head_place
              ) as head
              where state::text in ('leased', 'scheduled')
            )
          ) end
        )
      ) as asked
      cross join lateral (
        select
          id,
          -- include shared/job_bytes.sql
          as bytes
        from dibs.jobs
        where queue_id = :queue_id and id = asked.id and state::text = 'ready'
        for update skip locked
      ) as job
    ) as locked
    where no = locked_no
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
