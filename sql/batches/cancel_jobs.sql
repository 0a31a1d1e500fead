-- Cancels the next :limit waiting jobs of a batch. It passes over those that are being claimed at this moment.
-- It updates by ctid, which cannot change under the lock.
with batch as materialized (
  select waiting.ctid
  from unnest('{scheduled, blocked, ready}'::dibs.job_state[]) as one (state)
  cross join lateral (
    select ctid
    from dibs.jobs
    where batch_id = :id and state = one.state
    order by batch_id, state, id
    limit (select :limit::integer)
    for update skip locked
  ) as waiting
  limit :limit
)
update dibs.jobs j
set
  -- include shared/cancelled.sql
where ctid = any (array(select ctid from batch)) and j.state in ('scheduled', 'ready', 'blocked')
returning j.id, j.state, j.group_key as "group", j.awaited_until > now() as awaited;
