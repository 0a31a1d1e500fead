-- Tells where the first job that is ready stands in each of some pieces of a queue's order: behind :positions, up to
-- :last_positions of a rank. `firsts` has a position for each piece, nothing where there is none, and commas between them. It
-- takes no locks, and sees jobs that others have locked. `ends` tells, in the same form, how many ms it was at work when it
-- had looked into each piece. :has_keys: it looks for jobs with fairness keys, else for those without.
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
