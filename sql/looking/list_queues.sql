-- A page of queues by name.
select
  -- include shared/queue_columns.sql
from dibs.queues
where name > :after
  and (:visible::text[] is null or name like any (:visible))
  and (:name_contains::text is null or strpos(name, :name_contains) > 0)
order by name
limit :limit;
