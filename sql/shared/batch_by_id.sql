-- The jobs `j` of one queue with these ids, which ascend. The value for an id stands at the same place of another array:
-- `(:results::text[])[width_bucket(j.id, :ids::uuid[])]` finds it by bisection. A join to the arrays is slow: a plan made
-- while the queue was empty compared each job with each item (250 ms for 1000, against 2).
-- BETWEEN is for PostgreSQL before 17. While it takes the queue for an empty one, it reads the whole queue and filters by
-- ids. BETWEEN limits this to the ids from the first to the last.
j.queue_id = :queue_id
and j.id = any (:ids::uuid[])
and j.id between (:ids::uuid[])[1] and (:ids::uuid[])[cardinality(:ids::uuid[])]
