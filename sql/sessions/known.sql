-- Those of these sessions that have not ended.
select id from dibs.sessions where id = any (:sessions::uuid[]) and not ended;
