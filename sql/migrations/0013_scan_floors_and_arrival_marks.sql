-- Where scans may begin: the scan floors of queues from which many jobs were claimed, as some replica knew them
-- (src/claim/scanFloor.ts). They are hints, for replicas that start or were idle. A rank is a negated priority.
create table dibs.scan_floors (
  queue_id integer not null references dibs.queues on delete cascade,
  rank smallint not null,
  position bigint not null,
  primary key (queue_id, rank)
) with (vacuum_truncate = false);

-- Jobs whose transactions may commit late: the positions of some jobs of a queue (src/queues/arrivals.ts). A replica that
-- sees a new mark looks for jobs that its scan floors passed over. Nothing here is unique, so no transaction waits for
-- another one.
create table dibs.arrival_marks (
  xid xid8 not null default pg_current_xact_id(),
  queue_id integer not null,
  first bigint not null,
  last bigint not null
) with (vacuum_truncate = false);
create index arrival_marks_xid on dibs.arrival_marks (xid);
-- Some 20 pages, so that no plan made while it is empty reads all of it later: see 0001_queues_and_jobs.sql.
insert into dibs.arrival_marks (queue_id, first, last) select 0, 0, 0 from generate_series(1, 3000);
delete from dibs.arrival_marks;
