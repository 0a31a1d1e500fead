-- Where the order of arrival ends in this database.
select last_value from dibs.positions;
