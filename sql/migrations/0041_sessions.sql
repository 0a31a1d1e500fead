-- Sessions: leases that end with the connection of their worker. See docs/decisions/0105-sessions.md.
-- oldest: 24

-- The session that the lease is tied to. It counts while the job is leased. Afterwards it stays, and says nothing.
alter table dibs.jobs add column session_id uuid;
alter table dibs.relocating_jobs add column session_id uuid;

-- The leases of a session. Only statements that say dibs.by_index may use it (0005_groups.sql).
create index jobs_session on dibs.jobs (session_id) where session_id is not null and dibs.by_index(state = 'leased');

-- The replicas that hold connections of sessions. Each renews its row, and no other.
create table dibs.session_replicas (
  id uuid not null,
  -- When this time has come, the connections that it held have ended.
  alive_until timestamptz not null,

  constraint session_replicas_pkey primary key (id)
);

create table dibs.sessions (
  id uuid not null,
  resume_seconds double precision not null,
  -- The caller whose session it is. Null: nobody needs a key.
  owner text,
  -- The connection that holds it, or that held it last.
  connection uuid not null,
  -- The replica of that connection. Null: the connection has ended, and at `ends_at` the session does.
  replica uuid,
  ends_at timestamptz,
  -- Nobody can claim with it, or resume it. It is deleted when its last lease has ended.
  ended boolean not null default false,

  constraint sessions_pkey primary key (id),
  constraint session_resume check (resume_seconds between 0 and 60),
  constraint session_held check ((replica is null) = (ends_at is not null)),
  constraint session_ended check (not ended or replica is null)
);
create index sessions_owner on dibs.sessions (owner);
create index sessions_replica on dibs.sessions (replica) where replica is not null;
create index sessions_ends_at on dibs.sessions (ends_at) where ends_at is not null;
