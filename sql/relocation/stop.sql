-- Asks a relocation to stop. It is too late when the queue arrives.
update dibs.relocations r
set is_stopped = true
where r.id = :id
  and r.state = 'running'
  and
  -- include shared/visible_relocation.sql
;
