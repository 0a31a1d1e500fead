-- Gives a key a new secret. The one of before goes on for a while; the one before that does not.
update dibs.access_keys
set
  hash = decode(:hash, 'base64'),
  old_hash = case when :overlap_seconds::float8 > 0 then hash end,
  old_hash_expires_at = case when :overlap_seconds > 0 then now() + :overlap_seconds * interval '1 second' end
where id = :id and revoked_at is null
returning
  -- include shared/key_columns.sql
;
