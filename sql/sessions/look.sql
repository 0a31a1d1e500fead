-- What the duty has to do.
select
  -- include shared/session_look.sql
;
