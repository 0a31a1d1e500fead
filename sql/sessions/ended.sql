-- Sessions that have ended, and whose leases may not have.
select id from dibs.sessions where ended limit 1000;
