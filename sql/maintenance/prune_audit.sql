-- Deletes the 1000 oldest rows of the audit that are 90 days old. :from is the scan horizon, see due_leases.sql.
delete from dibs.audit
where ctid = any (array(
    select ctid
    from dibs.audit
    where expires_at >= :from::timestamptz and expires_at <= now()
    order by expires_at
    limit (select 1000)
    for update skip locked
  ))
returning expires_at::text as ended_at;
