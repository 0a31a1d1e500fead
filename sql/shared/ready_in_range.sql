-- The ready jobs without a fairness key in a `range` of a queue's order (src/floor/scanRanges.ts). The statement adds the order of
-- the index.
queue_id = :queue_id
and state = 'ready'
and fairness_key is null
and (-priority, position) > (range.rank, range.position)
and (-priority, position) <= (range.last_rank, range.last_position)
and (expires_at is null or expires_at > statement_timestamp())
