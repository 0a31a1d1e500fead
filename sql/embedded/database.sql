-- Whether the embedded server has the database of Dibs.
select exists (select from pg_database where datname = 'dibs') as found;
