-- What happened to jobs, by queue, over all replicas (src/metrics/totals.ts). The busiest queues have a row of their own.
-- Queue 0 stands for all the others. Queue -1 has what was counted for queues that lost their row, or were deleted.
-- The rows change once a second for each replica. Room in the pages keeps these updates away from the index.
create table dibs.totals (
  queue_id integer primary key,
  enqueued bigint not null default 0,
  deduplicated bigint not null default 0,
  claimed bigint not null default 0,
  acked bigint not null default 0,
  nacked bigint not null default 0,
  released bigint not null default 0,
  rescued bigint not null default 0,
  expired bigint not null default 0,
  dead bigint not null default 0
) with (fillfactor = 20, vacuum_truncate = false);
insert into dibs.totals (queue_id) values (0), (-1);
