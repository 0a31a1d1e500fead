-- The isolation of the transaction that has just begun. `select set_config(...)` would come too late: it has a snapshot.
set transaction_isolation = 'read committed';
