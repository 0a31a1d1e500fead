-- Drops stored scan floors beyond the end of the order of arrival: the database was set back in time.
delete from dibs.scan_floors where position > (select last_value from dibs.positions);
