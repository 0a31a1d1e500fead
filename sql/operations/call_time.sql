-- The moment of a call, to the microsecond.
select now()::text as now;
