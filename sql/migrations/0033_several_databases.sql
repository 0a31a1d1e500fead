-- The database that an act was about. And up to when a client waits for the end of a job that has not arrived yet.
-- oldest: 24
alter table dibs.audit add column database text;
alter table dibs.relay add column awaited_until timestamptz;
