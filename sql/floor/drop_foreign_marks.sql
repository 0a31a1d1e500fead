-- Drops marks that came with a database restored from another server. Transaction ids were higher there, so each look
-- would take these marks for new, until this server has used as many ids.
delete from dibs.arrival_marks where xid >= pg_snapshot_xmax(pg_current_snapshot());
