-- A job that has not arrived yet.
select
  -- include shared/relayed_job.sql
from dibs.relay
where id = :id;
