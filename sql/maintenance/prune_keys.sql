-- Deletes the 1000 keys that were over first, of those that were revoked or expired more than 7 days ago. :from is the
-- scan horizon, see due_leases.sql. Keys of ADMIN_KEY_FILE stay: the next start would put them in again.
delete from dibs.access_keys
where ctid = any (array(
    select ctid
    from dibs.access_keys
    where least(revoked_at, expires_at) >= :from::timestamptz - interval '7 days'
      and least(revoked_at, expires_at) <= now() - interval '7 days'
      and not is_from_file
    order by least(revoked_at, expires_at)
    limit (select 1000)
    for update skip locked
  ))
returning (least(revoked_at, expires_at) + interval '7 days')::text as ended_at;
