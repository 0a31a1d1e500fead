-- Settings of the server, as they hold for this role in this database.
select name, setting, reset_val
from pg_settings
where name = any (:names::text[]);
