-- Several PostgreSQLs behind one Dibs: docs/decisions/0091-several-databases.md. With one database, `databases` and `placements` are
-- empty, and nothing reads them.
-- oldest: 24

-- Which database of which Dibs this one is. `name` is null until a Dibs with several databases has taken it. `home`: the id of
-- the database that is its home.
create table dibs.this_database (
  is_only boolean not null default true,
  id uuid not null default gen_random_uuid(),
  name text,
  home uuid,

  constraint this_database_pkey primary key (is_only),
  constraint this_database_is_only check (is_only)
);
insert into dibs.this_database default values;

-- The databases of this Dibs. Only `home` has rows.
create table dibs.databases (
  name text not null,
  id uuid not null,
  accepts_queues boolean not null default true,
  -- How many rows of placements have its name.
  queues integer not null default 0,
  created_at timestamptz not null default now(),

  constraint databases_pkey primary key (name),
  constraint databases_id unique (id)
);

-- In which database a queue lives, with its number. Only `home` has rows.
create table dibs.placements (
  queue_id integer not null,
  name text not null,
  -- New queues with the same first part go where this one is.
  first_part text not null generated always as (split_part(translate(name, ':', '.'), '.', 1)) stored,
  database text not null,

  constraint placements_pkey primary key (queue_id),
  constraint placements_name unique (name),
  constraint placements_database foreign key (database) references dibs.databases (name)
);
create index placements_first_part on dibs.placements (first_part, queue_id);

-- sql/functions make these anew, with their texts.
create function dibs.count_placement() returns trigger language plpgsql as $$ begin return null; end; $$;
create function dibs.place_at_home() returns trigger language plpgsql as $$ begin return new; end; $$;
create function dibs.unplace_at_home() returns trigger language plpgsql as $$ begin return null; end; $$;

create trigger placements_counted after insert or update of database or delete on dibs.placements
  for each row execute function dibs.count_placement();
create trigger queues_placed before insert on dibs.queues
  for each row execute function dibs.place_at_home();
create trigger queues_unplaced after delete on dibs.queues
  for each row execute function dibs.unplace_at_home();
