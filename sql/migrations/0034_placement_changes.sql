-- A transaction of a user that creates or deletes a queue in home holds nothing that the placement of other queues needs.
-- oldest: 24

-- How many queues more, or fewer, a database has than dibs.databases.queues says. The next placement counts them: see
-- functions/count_placements.sql.
create table dibs.placement_changes (
  database text not null,
  change smallint not null
);
alter table dibs.placement_changes set (vacuum_truncate = false);

-- Null only within the transaction that places the queue.
alter table dibs.placements alter column database drop not null;

-- sql/functions make it anew, with its text.
create function dibs.count_placements() returns void language plpgsql as $$ begin end; $$;
