-- A line for each job that waits here for a queue in another database, in their order: those behind the place :after, but for those
-- that have arrived, up to :most of them and about :most_bytes. A new job goes as the text of its fields, a moved one as its line.
select place, json_strip_nulls(row_to_json(line))::text as line
from (
  select place, sum(bytes) over (order by place) - bytes as bytes_before, id, queue_id, created_at, job, moved, on_duplicate,
    unique_until
  from dibs.relay
  where queue_id = :queue_id and place > :after and place <> all (:arrived::bigint[])
  order by queue_id, place
  limit (select :most::integer)
) as page
cross join lateral (
  select 'relay' as kind, queue_id, id, created_at, row_to_json(job)::text as job, moved, on_duplicate, unique_until
) as line
where bytes_before < :most_bytes::integer
order by place;
