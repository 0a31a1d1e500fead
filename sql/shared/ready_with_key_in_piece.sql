-- The same as ready_in_piece.sql, for jobs with a fairness key. They have an index of their own.
queue_id = :queue_id
and dibs.by_index(state = 'ready')
and fairness_key is not null
and -priority = piece.rank
and position > piece.position
and position <= piece.last_position
and (expires_at is null or expires_at > statement_timestamp())
