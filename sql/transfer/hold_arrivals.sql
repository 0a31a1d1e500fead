-- No job arrives in this database until the transaction, or its savepoint, ends. Like every lock, it takes no snapshot.
lock table dibs.relay_arrivals in share mode;
