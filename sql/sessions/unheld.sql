-- Sessions that this replica holds by the database, but not with one of these connections.
select s.id as session, s.connection
from dibs.sessions s
where s.replica = :replica
  and not exists (select from unnest(:connections::uuid[]) as held (connection) where held.connection = s.connection);
