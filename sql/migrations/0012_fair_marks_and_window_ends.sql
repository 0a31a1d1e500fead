-- Queues that got jobs with fairness keys by dibs.enqueue, in a transaction of a user. A replica that sees a row sets
-- dibs.queues.fair. Nothing here is unique, so no transaction waits for another one.
create table dibs.fair_marks (
  queue_id integer not null
) with (vacuum_truncate = false);
create index fair_marks_queue on dibs.fair_marks (queue_id);
-- Some 20 pages, so that no plan made while it is empty reads all of it later: see 0001_queues_and_jobs.sql.
insert into dibs.fair_marks (queue_id) select 0 from generate_series(1, 4500);
delete from dibs.fair_marks;

alter table dibs.unique_windows
  -- How the job of the window ended, once it is deleted. Null: by an ack.
  add ended_as dibs.job_state,
  -- The headers of the job. They may hold half of a surrogate pair: a json with that inside cannot be read by its fields.
  add headers json;
