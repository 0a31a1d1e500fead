-- The process of the server that runs this statement. Behind a pooler it may change.
select pg_backend_pid() as pid;
