-- Numbers of queues that are gone, and since when. When the sequence ends, they are used again: see
-- docs/decisions/0053-queue-numbers-again.md.
-- oldest: 24
create table dibs.free_queue_ids (
  queue_id integer not null,
  since timestamptz not null default now(),

  constraint free_queue_ids_pkey primary key (queue_id)
);
create index free_queue_ids_since on dibs.free_queue_ids (since);

-- sql/functions/next_queue_id.sql makes it anew, with its text.
create function dibs.next_queue_id() returns integer language plpgsql as $$ begin return nextval('dibs.queue_ids'); end; $$;

alter table dibs.queues alter column id set default dibs.next_queue_id();
