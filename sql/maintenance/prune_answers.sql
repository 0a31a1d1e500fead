-- Deletes the 1000 oldest idempotency keys that have expired. :from is the scan horizon, see due_leases.sql.
-- It deletes by ctid, which cannot change under the lock. A pair of columns in an array would be compared row by row.
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
