-- Two heads of a group cannot be; and the first job that waits behind one is found by one probe. See
-- docs/decisions/0014-groups.md.
create unique index jobs_head on dibs.jobs (queue_id, group_key) where is_head;
create index jobs_blocked on dibs.jobs (queue_id, group_key, position) where state = 'blocked';
