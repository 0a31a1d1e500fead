-- Moves the jobs of a portion to a queue in another database: they wait here, as lines of an export, until they arrive. The
-- transaction has locked them. Their new ids are as operations/move.sql makes them. The windows of their keys stay, as after
-- a delete.
with batch as materialized (
  select j.id, j.state, j.unique_key
  from dibs.jobs j
  where
    -- include shared/batch_by_id.sql
),
-- include shared/note_ends.sql
,
moved as materialized (
  select id, json_strip_nulls(row_to_json(line))::text as line
  from (
    select
      id,
      -- include shared/exported_columns.sql
    from dibs.jobs j
    where
      -- include shared/batch_by_id.sql
  ) as line
),
deleted as (
  delete from dibs.jobs j
  where
    -- include shared/batch_by_id.sql
)
insert into dibs.relay (id, queue_id, queue, moved, bytes)
select
  (left(id::text, 30) || lpad(to_hex(:to_id::integer), 6, '0'))::uuid,
  :to_id, :to, line, octet_length(line)
from moved
order by id
returning id;
