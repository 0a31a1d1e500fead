-- Deletes windows of unique keys that are over, the oldest 1000. Nothing is over before :from (src/duties/horizon.ts).
-- By ctid: see idempotency_expire.sql.
delete from dibs.unique_windows
where ctid = any (array(
    select ctid
    from dibs.unique_windows
    where until >= :from::timestamptz and until <= now()
    order by until
    limit (select 1000)
    for update skip locked
  ))
returning until::text as ended_at;
