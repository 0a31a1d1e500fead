-- What kind of database this is.
select
  current_setting('server_version_num')::integer as version,
  current_setting('server_encoding') as encoding;
