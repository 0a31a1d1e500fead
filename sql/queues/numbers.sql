-- The last number of a queue that was given, and how many of those before it can be used again: counted as far as is
-- needed to tell whether a fifth of all is left, and a little further.
select
  last_value as last,
  (
    select count(*)::integer
    from (
      select
      from dibs.free_queue_ids
      where since <= now() -
        -- include shared/number_rest.sql
      limit (select greatest(0, 3356000 - (16777215 - last_value)) from dibs.queue_ids)
    ) as found
  ) as reusable
from dibs.queue_ids;
