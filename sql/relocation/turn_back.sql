-- In the source: the queue does not leave after all. Nobody takes any more of its jobs out.
update dibs.relocating_queues
set role = 'returning'
where queue_id = :queue_id and relocation = :relocation and role in ('leaving', 'returning')
returning queue_id;
