-- Deletes the 1000 oldest rows of the history that are 30 days old. :from is the scan horizon, see due_leases.sql.
delete from dibs.history
where ctid = any (array(
    select ctid
    from dibs.history
    where expires_at >= :from::timestamptz and expires_at <= now()
    order by expires_at
    limit (select 1000)
    for update skip locked
  ))
returning expires_at::text as ended_at;
