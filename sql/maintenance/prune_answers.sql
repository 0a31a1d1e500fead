-- Deletes expired keys, the oldest 1000. Nothing is expired before :from (src/duties/horizon.ts).
-- By ctid, which cannot change under the lock: a pair of columns in an array would be matched row by row.
delete from dibs.idempotency_keys
where ctid = any (array(
    select ctid
    from dibs.idempotency_keys
    where expires_at >= :from::timestamptz and expires_at <= now()
    order by expires_at
    limit (select 1000)
    for update skip locked
  ))
returning expires_at::text as ended_at;
