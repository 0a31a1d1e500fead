-- A request that took its claim (repeat.sql) has looked at all queues: another one may take the claim again.
update dibs.repeatable_claims
set looking_until = null
where mark = :mark and holder = :request;
