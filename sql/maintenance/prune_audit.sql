-- Deletes the 1000 oldest audit rows that are 90 days old, or that have :most_rows newer ones. :from is the scan horizon, see
-- due_leases.sql.
delete from dibs.audit
where ctid = any (array(
    select ctid
    from dibs.audit
    where expires_at >= :from::timestamptz
      and expires_at <= greatest(
        now(),
        (
          select expires_at
          from dibs.audit
          where id <= (select max(id) from dibs.audit) - :most_rows::bigint
          order by id desc
          limit 1
        )
      )
    order by expires_at
    limit (select 1000)
    for update skip locked
  ))
returning expires_at::text as ended_at;
