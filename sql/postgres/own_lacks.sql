-- What the role of this connection lacks to serve, in words.
select
  -- include shared/lacks_named.sql
  as lacks
from (
  -- include shared/serving_lacks.sql
) as lacks
where role = current_user;
