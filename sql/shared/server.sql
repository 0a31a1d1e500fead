-- What changes when the server starts again, and when dibs is restored into the same server.
extract(epoch from pg_postmaster_start_time())::text || ' ' || arrivals.tableoid::text
