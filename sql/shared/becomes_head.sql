-- What an advance makes of a job `j` of `picked`: a head, at a new position. Its place stands beside it. Nobody has begun it since it
-- arrived, unless it had to give up its place as a head: see shared/group_order.sql.
state = 'ready',
is_head = true,
is_paused = null,
leased_at = case when j.head_place < 0 then j.leased_at end,
position = ((select positions from picked))[width_bucket(j.id, (select ids from picked))],
run_at = now()
