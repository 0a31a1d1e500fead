-- Gives the queues that are in home already their places.
insert into dibs.placements (queue_id, name, database)
select id, name, 'home'
from dibs.queues
on conflict do nothing;
