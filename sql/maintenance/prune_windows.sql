-- Deletes the 1000 oldest windows of unique keys that are over. :from is the scan horizon, see due_leases.sql.
-- It deletes by ctid: see prune_answers.sql.
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
