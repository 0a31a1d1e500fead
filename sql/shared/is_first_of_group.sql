-- Whether a job of `ready` goes to the claims: see claim_firsts.sql.
(select has_one_head from wanted) or group_key is null or id in (select id from firsts)
