-- Sessions where there are several databases. See docs/decisions/0106-sessions-in-several-databases.md.
-- oldest: 24

-- It is there for its leases in this database. The session itself is in home: who holds it, and when it ends.
alter table dibs.sessions
  add column is_guest boolean not null default false,
  drop constraint session_held,
  add constraint session_held check (
    case when is_guest then replica is null and ends_at is null else (replica is null) = (ends_at is not null) end
  );
-- Those whose sessions are to be looked for in home.
create index sessions_guests on dibs.sessions (id) where is_guest and not ended;
