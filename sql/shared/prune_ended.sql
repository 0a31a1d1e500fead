-- Deletes the 1000 rows of {table} whose {end} was first, of those where it is over. :from is the scan horizon, see
-- maintenance/due_leases.sql.
-- It deletes by ctid, which cannot change under the lock. A pair of columns in an array would be compared row by row.
delete from {table}
where ctid = any (array(
    select ctid
    from {table}
    where {end} >= :from::timestamptz and {end} <= now()
    order by {end}
    limit (select 1000)
    for update skip locked
  ))
returning {end}::text as ended_at;
