-- Drops stored scan floors behind :end, where the order of arrival ended when it was set back in time: their positions come
-- again. The others stay. They came with the data that was restored, or were stored since: no replica stores what it knew
-- of the database of before (store_floors.sql). A floor that is too high all the same delays jobs until a patrol finds them.
delete from dibs.scan_floors where position > :end or fair_position > :end;
