-- Looks at the next 10,000 rows of dibs.history behind :after, and deletes those that history_cuts.sql has named.
with looked as materialized (
  select id, queue_id as owner from dibs.history where id > :after::bigint order by id limit 10000
),
gone as (
  delete from dibs.history
  where id = any (array(
      select looked.id
      from looked
      join unnest(:owners::text[], :up_tos::bigint[]) as cut (owner, up_to) on cut.owner::integer = looked.owner
      where looked.id <= cut.up_to
    ))
)
select max(id) as after from looked;
