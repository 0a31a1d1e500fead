-- Sends dead letters back to the queues that they came from, each as a job with all of its attempts, at the position beside
-- its id. Its new id ends with the number of that queue. What comes before that stays. A job of a group is blocked, and no head.
-- Whoever may enqueue here may write its headers. So a job goes only to a queue that has this one as its dead letter queue now.
-- One that somebody works on or holds at this moment stays, and one whose unique key is held there. A transaction that takes the key
-- at this moment may be one that somebody keeps open: the caller limits that wait.
with batch as materialized (
  select j.id, j.state, j.unique_key, j.is_head, j.group_key, home.id as home_id, home.name as home
  from dibs.jobs j
  join dibs.queues own on own.id = j.queue_id
  join dibs.queues home
    on home.name = dibs.dead_letter_header(j.headers, 'dibs-dead-from') and home.dead_letter_queue = own.name
  where
    -- include shared/batch_by_id.sql
    and j.state::text in ('scheduled', 'ready', 'blocked', 'dead')
    and (j.unique_key is null or not dibs.is_key_held(home.id, j.unique_key))
  for update of j skip locked
  for key share of home
),
-- include shared/note_ends.sql
,
homes as materialized (
  select
    array_agg(id order by id) as ids,
    array_agg(home_id order by id) as home_ids,
    array_agg(home order by id) as names,
    array_agg(case when is_head then group_key end order by id) as headless
  from batch
),
sent as (
  update dibs.jobs j
  set
    queue_id = ((select home_ids from homes))[width_bucket(j.id, (select ids from homes))],
    id = (
      left(j.id::text, 30)
      || lpad(to_hex(((select home_ids from homes))[width_bucket(j.id, (select ids from homes))]), 6, '0')
    )::uuid,
    state = (case when j.group_key is null then 'ready' else 'blocked' end)::dibs.job_state,
    position = (:positions::bigint[])[width_bucket(j.id, :ids::uuid[])],
    is_head = false,
    attempt = 0,
    run_at = now(),
    finished_at = null,
    expires_at = case when j.expires_at > now() then j.expires_at end,
    headers = dibs.dead_letter_headers(j.headers, null, null),
    lease_token = null,
    awaited_until = null,
    counted = false
  where
    -- include shared/batch_by_id.sql
    and j.id = any ((select ids from homes)::uuid[])
  returning j.queue_id, j.id, j.state, j.group_key as "group"
)
-- The place of a job among the old ids: they differ from the new ones in the last six digits only.
select
  sent.id, sent.state, sent."group",
  (homes.names)[width_bucket(old.highest, homes.ids)] as home,
  (homes.headless)[width_bucket(old.highest, homes.ids)] as headless
from sent
cross join homes
cross join lateral (select (left(sent.id::text, 30) || 'ffffff')::uuid as highest) as old;
