-- Gives queues rows of their own, the first ones first, while there are fewer than :most of them.
insert into dibs.totals (queue_id)
select q.id
from unnest(:queue_ids::integer[]) with ordinality as wanted (id, place)
cross join lateral (select id from dibs.queues where id = wanted.id limit 1) as q
where not exists (select from dibs.totals t where t.queue_id = q.id)
order by wanted.place
limit (select greatest(0, :most::integer - count(*)::integer) from dibs.totals where queue_id > 0);
