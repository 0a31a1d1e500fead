-- How many connections the server, the database and the role may have, and how many there are. -1: no limit.
select
  (select count(*) from pg_stat_activity where datid is not null and usesysid is not null) as used,
  d.datconnlimit as database_limit,
  (select count(*) from pg_stat_activity where datid = d.oid) as database_used,
  r.rolconnlimit as role_limit,
  (select count(*) from pg_stat_activity where usesysid = r.oid) as role_used,
  r.rolsuper as is_superuser,
  pg_has_role('pg_read_all_stats', 'usage') as sees_all
from pg_database d
cross join pg_roles r
where d.datname = current_database() and r.rolname = current_user;
