-- Tells where the first job that is ready stands in each of some ranges of a queue's order: from behind (:ranks,
-- :positions) to (:last_ranks, :last_positions). `firsts` has a position for each range, nothing where there is none, and
-- commas between them. It takes no locks, and sees jobs that others have locked. `ms` is how long it took.
with found as materialized (
  select string_agg(coalesce(job.position::text, ''), ',' order by range.no) as firsts
  from unnest(:ranks::smallint[], :positions::bigint[], :last_ranks::smallint[], :last_positions::bigint[])
    with ordinality as range (rank, position, last_rank, last_position, no)
  left join lateral (
    select position
    from dibs.jobs
    where queue_id = :queue_id
      and state = 'ready'
      and fairness_key is null
      and (-priority, position) > (range.rank, range.position)
      and (-priority, position) <= (range.last_rank, range.last_position)
      and (expires_at is null or expires_at > statement_timestamp())
    order by queue_id, -priority, position
    limit 1
  ) as job on true
)
select
  firsts,
  (extract(epoch from clock_timestamp() - statement_timestamp()) * 1000)::double precision as ms,
  (
    select not paused and max_leased is null and rate_jobs is null
    from dibs.queues
    where id = :queue_id
  ) as gives_freely
from found;
