-- In the source: the next :limit unique windows of a queue behind the key :after, and the last key.
select coalesce(json_agg(w), '[]')::text as rows, max(w.unique_key) as last, count(*)::integer as count
from (
  select *
  from dibs.unique_windows
  where queue_id = :queue_id and unique_key > :after
  order by unique_key
  limit (select :limit::integer)
) as w;
