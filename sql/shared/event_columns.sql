-- The events that are counted, as columns of dibs.totals.
-- Generated from src/verbs/counting.ts by "npm run generate".
enqueued, deduplicated, claimed, acked, nacked, released, rescued, expired, dead
