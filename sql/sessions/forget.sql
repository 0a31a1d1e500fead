-- Deletes sessions that have ended, and whose leases have, too. No lease can be added to them.
-- :told: those of which the other databases know. Null: there are none that have to.
delete from dibs.sessions s
where s.ended
  and (:told::uuid[] is null or s.id = any (:told::uuid[]))
  and not exists (
    select from dibs.jobs j where j.session_id = s.id and dibs.by_index(j.state = 'leased') offset 0
  );
