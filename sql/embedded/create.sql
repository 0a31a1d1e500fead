-- The database of Dibs on the embedded server.
create database dibs;
