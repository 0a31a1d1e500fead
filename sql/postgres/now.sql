-- The time of the database's clock, the only clock that decides anything.
select now() as now;
