-- Drops marks that came with a database restored from another server. There, transaction ids were higher: each look would
-- see these marks anew, until the ids of this server have come as far.
delete from dibs.arrival_marks where xid >= pg_snapshot_xmax(pg_current_snapshot());
