-- Adds the numbers of `added` to those of a row `t` of dibs.totals.
-- Generated from src/verbs/counting.ts by "npm run generate".
enqueued = t.enqueued + added.enqueued,
deduplicated = t.deduplicated + added.deduplicated,
claimed = t.claimed + added.claimed,
acked = t.acked + added.acked,
nacked = t.nacked + added.nacked,
released = t.released + added.released,
rescued = t.rescued + added.rescued,
expired = t.expired + added.expired,
dead = t.dead + added.dead
