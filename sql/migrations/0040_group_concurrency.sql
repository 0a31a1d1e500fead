-- Several jobs of a group at once. See docs/decisions/0104-groups-with-several-heads.md.
-- oldest: 24
alter table dibs.queues
  add column group_concurrency smallint not null default 1,
  -- It was lowered, and groups may still have more heads than that. sql/groups/narrow.sql looks at them.
  add column is_narrowing boolean not null default false,
  add constraint queue_group_concurrency check (group_concurrency between 1 and 1000);
create index queues_narrowing on dibs.queues (id) where is_narrowing;

-- Of a head: its place among those of its group, from 1 to the group_concurrency of the queue. Negative: the group has more heads
-- than it may, and this one is none any more when it comes back. Older replicas know groups with one head: that has place 1.
alter table dibs.jobs add column head_place smallint not null default 1;
alter table dibs.relocating_jobs add column head_place smallint not null default 1;

drop index dibs.jobs_head;
create unique index jobs_head on dibs.jobs (queue_id, group_key, head_place)
  where group_key is not null and dibs.by_index(is_head);
