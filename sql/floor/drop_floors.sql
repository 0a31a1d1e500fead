-- Drops stored scan floors above :end, after the database was set back in time: the order of arrival ends at :end now,
-- and the positions above it are given out again. Lower floors stay. They came with the data that was restored, or were
-- stored since: no replica stores what it knew of the database before (store_floors.sql). If one of them is too high,
-- it delays jobs until a patrol finds them.
delete from dibs.scan_floors where position > :end or fair_position > :end;
