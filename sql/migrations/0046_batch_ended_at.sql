-- A batch is kept from its last end: one that ran again after a redrive was deleted within a minute.
-- oldest: 24

-- When all of its jobs were last seen to be finished. Null: not since this migration.
alter table dibs.batches add column ended_at timestamptz;
