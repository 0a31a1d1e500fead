-- Whether the session is there, and of this owner.
select id from dibs.sessions where id = :session and owner is not distinct from :owner and not ended;
