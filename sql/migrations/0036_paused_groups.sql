-- Groups whose jobs wait until somebody resumes them. See docs/decisions/0100-paused-groups.md.
-- oldest: 24
alter table dibs.queues
  add column paused_groups text[] not null default '{}',
  add constraint queue_paused_groups check (cardinality(paused_groups) <= 1000);

-- A head of a paused group: it is blocked when it would be ready. Only of heads.
alter table dibs.jobs add column is_paused boolean;
alter table dibs.relocating_jobs add column is_paused boolean;
