-- Deletes the marks that became visible after the snapshot :after, up to the snapshot :up_to. It reads only marks of
-- the transactions between them: see arrivals.sql. Marks that another replica is deleting are skipped.
-- It deletes by ctid: see maintenance/prune_answers.sql.
delete from dibs.arrival_marks
where ctid = any (array(
    select ctid
    from dibs.arrival_marks
    where xid = any (
        array(select pg_snapshot_xip(:after::pg_snapshot))
      )
      and pg_visible_in_snapshot(xid, :up_to::pg_snapshot)
    for update skip locked
  ))
  or ctid = any (array(
    select ctid
    from dibs.arrival_marks
    where xid >= pg_snapshot_xmax(:after::pg_snapshot)
      and xid < pg_snapshot_xmax(:up_to::pg_snapshot)
      and pg_visible_in_snapshot(xid, :up_to::pg_snapshot)
    for update skip locked
  ));
