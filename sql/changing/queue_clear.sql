-- Deletes the next :limit jobs of a queue in any state by id, behind :after_id: see purge.sql.
with batch as materialized (
  select id from dibs.jobs where queue_id = :queue_id and id > :after_id order by id limit (select :limit::integer)
),
deleted as (
  delete from dibs.jobs j
  where j.queue_id = :queue_id
    and j.id = any (array(select id from batch))
    and
    -- include shared/no_ack.sql dead=cancelled
)
select
  (select count(*)::integer from batch) as count,
  (select id from batch order by id desc limit 1) as after_id;
