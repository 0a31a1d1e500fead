-- The version of the schema of River. Before version 5, its table has no column `line`: the name means that of `absent`.
select max(version)::integer as version
from (select 'main' as line) as absent
cross join lateral (select version, line as its_line from river_migration) as migration
where its_line = 'main'
