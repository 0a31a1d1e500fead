-- Groups get no heads while their jobs are imported. See docs/decisions/0111-heads-wait-for-an-import.md.
-- oldest: 24

-- An import of this queue has not ended. A resume of the queue ends it, too.
alter table dibs.queues add column is_importing boolean not null default false;
