-- Creates a key.
insert into dibs.access_keys (id, name, hash, scopes, queues, expires_at)
values (
  :id, :name, decode(:hash, 'base64'), :scopes, :queues,
  coalesce(:expires_at::timestamptz, now() + :expires_in_seconds::float8 * interval '1 second')
)
returning
  -- include shared/key_columns.sql
;
