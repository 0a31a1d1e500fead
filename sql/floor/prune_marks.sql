-- Deletes the marks that became visible between the snapshots :after and :up_to. On where it looks: see arrivals.sql.
-- It deletes by ctid: see maintenance/prune_answers.sql. Another replica deletes the same marks: it skips those.
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
