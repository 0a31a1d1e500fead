-- Which database this is, and whether the schema of the search path has these tables. A restored copy is another database.
select
  system_identifier || '/' || current_database() || '/' || current_schema() as place,
  to_regclass(:jobs) is not null as has_jobs,
  to_regclass(:versions) is not null as has_versions
from pg_control_system();
