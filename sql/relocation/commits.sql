-- In the source: the copy :attempt is about to commit in the target. 0: no copy can. Home may forget this, and this note does not. No row
-- comes back when the queue is not leaving by this relocation.
update dibs.relocating_queues
set attempt = :attempt
where queue_id = :queue_id and relocation = :relocation and role = 'leaving'
returning queue_id;
