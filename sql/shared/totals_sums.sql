-- The sums of the numbers of `n`, which may have no row.
-- Generated from src/verbs/counting.ts by "npm run generate".
coalesce(sum(n.enqueued), 0)::bigint as enqueued,
coalesce(sum(n.deduplicated), 0)::bigint as deduplicated,
coalesce(sum(n.claimed), 0)::bigint as claimed,
coalesce(sum(n.acked), 0)::bigint as acked,
coalesce(sum(n.nacked), 0)::bigint as nacked,
coalesce(sum(n.released), 0)::bigint as released,
coalesce(sum(n.rescued), 0)::bigint as rescued,
coalesce(sum(n.expired), 0)::bigint as expired,
coalesce(sum(n.dead), 0)::bigint as dead
