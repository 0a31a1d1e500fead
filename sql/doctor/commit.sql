-- Writes a message into the WAL that nobody reads. Its commit waits for the disk as every commit does, and touches no table.
select pg_logical_emit_message(true, 'dibs doctor', '')::text as at;
