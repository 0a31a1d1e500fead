-- Deletes sessions that have ended, and whose leases have, too. No lease can be added to them.
delete from dibs.sessions s
where s.ended
  and not exists (
    select from dibs.jobs j where j.session_id = s.id and dibs.by_index(j.state = 'leased') offset 0
  );
