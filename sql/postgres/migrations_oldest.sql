-- Older Dibs made the table of migrations without this column.
alter table dibs.migrations add column oldest integer;
