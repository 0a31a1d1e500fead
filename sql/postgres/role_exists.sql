-- One row if the role exists.
select rolname as role from pg_roles where rolname = :role;
