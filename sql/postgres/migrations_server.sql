-- The version and the encoding of the server.
select
  current_setting('server_version_num')::integer as version,
  current_setting('server_encoding') as encoding;
