-- Looks at the next 10,000 rows of {table} behind :after. It deletes those of the rows that cuts.sql has named: of each {owner} in
-- :owners, those up to its id in :up_tos.
with looked as materialized (
  select id, {owner} as owner from {table} where id > :after::bigint order by id limit 10000
),
gone as (
  delete from {table}
  where id = any (array(
      select looked.id
      from looked
      join unnest(:owners::text[], :up_tos::bigint[]) as cut (owner, up_to) on cut.owner::{type} = looked.owner
      where looked.id <= cut.up_to
    ))
)
select max(id) as after from looked;
