-- Which server home is, and which restored state.
select
  -- include shared/server.sql
  as server
from dibs.positions as arrivals;
