-- Looks at the next 10,000 rows of dibs.audit behind :after, and deletes those that audit_cuts.sql has named.
with looked as materialized (
  select id, actor as owner from dibs.audit where id > :after::bigint order by id limit 10000
),
gone as (
  delete from dibs.audit
  where id = any (array(
      select looked.id
      from looked
      join unnest(:owners::text[], :up_tos::bigint[]) as cut (owner, up_to) on cut.owner = looked.owner
      where looked.id <= cut.up_to
    ))
)
select max(id) as after from looked;
