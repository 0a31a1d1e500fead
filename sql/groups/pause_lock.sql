-- Holds a queue against other pauses of its groups, and tells whether this group is paused, and how many are. It waits for no
-- enqueue.
select :group::text = any (paused_groups) as is_paused, cardinality(paused_groups) as paused
from dibs.queues
where id = :queue_id
for no key update;
