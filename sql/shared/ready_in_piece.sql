-- The ready jobs without a fairness key in a `piece` of a queue's order. The statement adds the order of the index.
queue_id = :queue_id
and state = 'ready'
and fairness_key is null
and -priority = piece.rank
and position > piece.position
and position <= piece.last_position
and (expires_at is null or expires_at > statement_timestamp())
