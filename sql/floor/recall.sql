-- Gives new positions to up to :limit jobs that scan floors passed over: ready jobs of one queue, in some pieces of its
-- order. A piece is a part of one rank: it begins after its position in :positions, and ends with the one in
-- :last_positions. :has_keys says which jobs: those with fairness keys, or those without. The jobs arrive anew, in the
-- order that they had. Jobs that are being claimed at this moment are left alone. `ms` is how long the search took.
with found as materialized (
  select job.*
  from unnest(:ranks::smallint[], :positions::bigint[], :last_positions::bigint[]) as piece (rank, position, last_position)
  cross join lateral (
    select *
    from (
      select id, position
      from dibs.jobs
      where
        -- include shared/ready_in_piece.sql
      order by queue_id, -priority, position
      limit (select :limit::integer)
      for update skip locked
    ) as plain
    where not :has_keys::boolean
    union all
    select *
    from (
      select id, position
      from dibs.jobs
      where
        -- include shared/ready_with_key_in_piece.sql
      order by queue_id, -priority, position
      limit (select :limit::integer)
      for update skip locked
    ) as with_key
    where :has_keys::boolean
  ) as job
  limit (select :limit::integer)
),
searched as materialized (
  select count(*)::integer as jobs, extract(epoch from clock_timestamp() - statement_timestamp()) * 1000 as ms from found
),
placed as materialized (
  select array_agg(id order by id) as ids, array_agg(place order by id) as places
  from (
    select id, nextval('dibs.positions') as place
    from (select id from found order by position offset 0) as ordered
  ) as new
),
recalled as (
  update dibs.jobs j
  set position = ((select places from placed))[width_bucket(j.id, (select ids from placed))]
  where j.queue_id = :queue_id
    and j.id = any ((select ids from placed)::uuid[])
    and j.id between (select ids[1] from placed) and (select ids[cardinality(ids)] from placed)
)
select jobs as count, ms::double precision as ms from searched;
