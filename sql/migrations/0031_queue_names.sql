-- Names of queues sort by their bytes, whatever the locale of the database: pages of GET /queues go on over several databases, and
-- each must have the same order. It makes the index of names anew.
-- oldest: 24
alter table dibs.queues alter column name type text collate "C";
