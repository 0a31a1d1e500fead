-- A line for each batch, as it was when it was open: import_batches.sql.
select json_strip_nulls(row_to_json(line))::text as line
from (
  select
    'batch' as kind, b.queue_id, b.id, b.name, b.created_at, b.traceparent,
    b.completed + coalesce(ended.completed, 0) as completed,
    b.cancelled + coalesce(ended.cancelled, 0) as cancelled,
    b.dead + coalesce(ended.dead, 0) as dead
  from dibs.batches b
  left join (
    select
      batch_id,
      sum(change) filter (where state = 'completed') as completed,
      sum(change) filter (where state = 'cancelled') as cancelled,
      sum(change) filter (where state = 'dead') as dead
    from dibs.batch_ends
    group by batch_id
  ) as ended on ended.batch_id = b.id
) as line;
