-- Whether a job that was there at the call of a move (:heads_since) has become the head of its group since, and nobody has begun it.
-- The move itself took the head before it. Where :heads_since is null, none is.
is_head and leased_at is null and created_at <= :heads_since::timestamptz
