-- How many jobs of one group a claim may get. See docs/decisions/0104-groups-with-several-heads.md.
-- oldest: 24
alter table dibs.queues
  add column group_batches smallint not null default 1,
  add constraint queue_group_batches check (group_batches between 1 and 1000);
