-- What an advance makes of a job `j` of `picked`: a head, at a new position, that nobody has begun. Its place stands beside it.
state = 'ready',
is_head = true,
is_paused = null,
leased_at = null,
position = ((select positions from picked))[width_bucket(j.id, (select ids from picked))],
run_at = now()
