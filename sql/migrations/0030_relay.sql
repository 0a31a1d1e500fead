-- Jobs on their way to queues in other databases: docs/decisions/0090-relay.md. With one database the tables are empty, and nothing
-- reads them.
-- oldest: 24

-- Jobs that have not arrived yet, in the order of their places. They were written in the commit that decided about them.
create table dibs.relay (
  place bigint not null generated always as identity,
  id uuid not null,
  queue_id integer not null,
  queue text not null,
  -- A new job, as it was asked for. Its `max_attempts` is 0 where the queue decides.
  job dibs.new_job,
  -- Or a job that an operation moves: a line of an export, without its queue and position.
  moved text,
  bytes integer not null,
  created_at timestamptz not null default now(),

  constraint relay_pkey primary key (place),
  constraint relay_id unique (id),
  constraint relay_one check ((job is null) <> (moved is null))
);
create index relay_queue on dibs.relay (queue_id, place);

-- The parcel to a queue that is under way. When it has arrived, `places` is empty. The numbers of a queue ascend.
create table dibs.relay_parcels (
  queue_id integer not null,
  number bigint not null,
  places bigint[] not null,

  constraint relay_parcels_pkey primary key (queue_id)
);

-- The last parcel to a queue of this database that has arrived here, from each other database.
create table dibs.relay_arrivals (
  queue_id integer not null,
  source text not null,
  number bigint not null,

  constraint relay_arrivals_pkey primary key (queue_id, source),
  constraint relay_arrivals_queue foreign key (queue_id) references dibs.queues (id) on delete cascade
);
