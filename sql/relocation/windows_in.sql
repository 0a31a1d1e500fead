-- In the target: puts unique windows in.
insert into dibs.unique_windows
select * from json_populate_recordset(null::dibs.unique_windows, :rows::json);
