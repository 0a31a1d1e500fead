-- Tells where the first ready job is in each of some pieces of a queue's order. A piece is a part of one rank: it
-- begins after its position in :positions, and ends with the one in :last_positions. :has_keys says which jobs: those
-- with fairness keys, or those without. It takes no locks, and sees jobs that others have locked.
-- `firsts` has a position for each piece, or nothing, with commas between them. `ends` tells in the same form how many
-- ms the statement had run when it had looked into each piece. `gives_freely` is false for a paused queue, or one with
-- a claim limit.
with found as materialized (
  select
    piece.no,
    job.position,
    round((extract(epoch from clock_timestamp() - statement_timestamp()) * 1000)::numeric, 2) as ended
  from unnest(:ranks::smallint[], :positions::bigint[], :last_positions::bigint[])
    with ordinality as piece (rank, position, last_position, no)
  left join lateral (
    select position
    from (
      select position
      from dibs.jobs
      where
        -- include shared/ready_in_piece.sql
      order by queue_id, -priority, position
      limit 1
    ) as plain
    where not :has_keys::boolean
    union all
    select position
    from (
      select position
      from dibs.jobs
      where
        -- include shared/ready_with_key_in_piece.sql
      order by queue_id, -priority, position
      limit 1
    ) as with_key
    where :has_keys::boolean
  ) as job on true
)
select
  string_agg(coalesce(position::text, ''), ',' order by no) as firsts,
  string_agg(ended::text, ',' order by no) as ends,
  (
    select not paused and max_leased is null and rate_jobs is null
    from dibs.queues
    where id = :queue_id
  ) as gives_freely
from found;
