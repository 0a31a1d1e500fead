-- Creates those of these queues that are not there, as create.sql does for one. In the order of their names, so that no
-- two of these statements deadlock.
insert into dibs.queues (name)
select wanted.name
from unnest(:names::text[]) as wanted (name)
where not exists (select from dibs.queues q where q.name = wanted.name)
order by wanted.name
on conflict (name) do nothing;
