-- Reserves a piece of the order of arrival for the jobs of the import, so that they keep their order among each other. What
-- others take meanwhile lies before it. A database without any job gives the positions of the export.
select
  reserved.before,
  setval('dibs.positions', reserved.before + :positions::bigint) as last
from (
  select case when is_called then last_value + 1000000 else 0 end as before
  from dibs.positions
) as reserved;
