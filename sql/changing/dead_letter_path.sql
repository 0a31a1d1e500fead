-- The queues through which dead jobs would go that first go to :dead_letter_queue, in their order. Another one that is named
-- there and does not exist ends it. So does one that comes again: an import can make a circle. A path with :name at its end
-- would make one.
with recursive path as (
  select :dead_letter_queue::text as name, 1 as place
  union all
  select q.dead_letter_queue, path.place + 1
  from path
  join dibs.queues q on q.name = path.name
  where q.dead_letter_queue is not null and path.name <> :name::text
) cycle name set is_again using walked
select name
from path
order by place;
