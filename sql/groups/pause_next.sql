-- Makes the first blocked job of a paused group its head, and leaves it blocked: an advance that does not know of the pause
-- yet finds a head then. Returns what it found: that job, and whether it was made the head. When it was not, the caller looks
-- again. When another job became the head at this moment, it meets the index jobs_head, and runs again.
with queue as materialized (
  select id from dibs.queues where id = :queue_id and not is_importing and :group::text = any (paused_groups) for share
),
next as materialized (
  select j.id
  from dibs.jobs j
  where j.queue_id = (select id from queue) and j.group_key = :group and dibs.by_index(j.state = 'blocked')
  order by j.queue_id, j.group_key, j.position
  limit 1
),
made as (
  update dibs.jobs j
  set is_head = true, head_place = 1, is_paused = true, leased_at = case when j.head_place < 0 then j.leased_at end
  where j.queue_id = :queue_id and j.id = (select id from next) and j.state::text = 'blocked' and not j.is_head
    and not exists (
      select from dibs.jobs
      where queue_id = :queue_id and group_key = :group and dibs.by_index(is_head)
      order by queue_id, group_key
      offset 0
    )
  returning j.id
)
select next.id, exists (select from made) as is_made
from next;
