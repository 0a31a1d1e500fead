-- Moves the jobs of a portion to a queue in another database: they wait here, as lines of an export, until they arrive. The
-- transaction has locked them. Their new ids are as operations/move.sql makes them. The windows of their keys stay, as after
-- a delete. Their history goes along, and says that they were moved, as functions/note_history.sql does within a database.
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
      (
        select json_agg(row_to_json(entry) order by entry.id)
        from (
          select h.id, h.at, h.expires_at, h.event, h.state, h.attempt, h.deliveries, h.worker, h.error, h.run_at, h.leased_at, h.actor
          from dibs.history h
          where h.job_id = j.id
          union all
          select
            null,
            clock_timestamp(),
            now() + interval '30 days',
            'moved',
            case
              when j.state in ('ready', 'blocked') then
                (case when j.group_key is null then 'ready' else 'blocked' end)::dibs.job_state
              else j.state
            end,
            j.attempt,
            j.deliveries,
            null,
            null,
            case when j.state in ('scheduled', 'ready', 'blocked') then j.run_at end,
            null,
            case
              when current_setting('dibs.actor', true) like '{%' then current_setting('dibs.actor')::json ->> j.id::text
              else nullif(current_setting('dibs.actor', true), '')::json #>> '{}'
            end
          where current_setting('dibs.history', true) is distinct from 'off'
        ) as entry
      ) as history,
      -- include shared/exported_columns.sql
    from dibs.jobs j
    where
      -- include shared/batch_by_id.sql
  ) as line
),
forgotten as (
  delete from dibs.history where job_id = any (array(select id from batch))
),
deleted as (
  delete from dibs.jobs j
  where
    -- include shared/batch_by_id.sql
    and
    -- include shared/no_ack.sql dead=dead
)
insert into dibs.relay (id, queue_id, queue, moved, bytes)
select
  (left(id::text, 30) || lpad(to_hex(:to_id::integer), 6, '0'))::uuid,
  :to_id, :to, line, octet_length(line)
from moved
order by id
returning id;
