-- Sessions that this replica holds by the database, but not with one of these connections.
select id as session, connection
from dibs.sessions
where replica = :replica and connection <> all (:connections::uuid[]);
