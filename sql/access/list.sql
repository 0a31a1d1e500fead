-- A page of keys, oldest first.
select
  -- include shared/key_columns.sql
from dibs.access_keys
where id > :after
order by id
limit :limit;
