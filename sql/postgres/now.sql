-- The database's clock, the only one that decides anything.
select now() as now;
