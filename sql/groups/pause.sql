-- From its commit on, no group of this name gets a head. The heads that there are: groups/pause_head.sql.
update dibs.queues
set paused_groups = paused_groups || :group::text
where id = :queue_id;
