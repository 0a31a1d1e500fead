-- Deletes windows of unique keys that are over, the oldest 1000. Nothing is over before $1 (src/duties/horizon.ts).
-- By ctid: see idempotency_expire.sql.
delete from dibs.unique_windows
where ctid = any (array(
    select ctid
    from dibs.unique_windows
    where until >= $1::timestamptz and until <= now()
    order by until
    limit (select 1000)
    for update skip locked
  ))
returning until::text as ended;
