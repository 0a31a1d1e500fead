-- Nobody waits any longer until the holder of a claim has looked at its queues (`looking_until`). It is for claims over
-- several databases only (src/claim/askEverywhere.ts).
update dibs.repeatable_claims set looking_until = null where mark = :mark and looking_until is not null;
