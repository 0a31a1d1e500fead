-- Which database of which Dibs this one is, and whether it has been used.
select
  d.id,
  d.name,
  d.home,
  exists (select from dibs.queues) or exists (select from dibs.access_keys) as is_used
from dibs.this_database d;
