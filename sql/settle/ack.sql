-- Deletes done jobs. Also one whose lease ran out, while nobody else was given it: its token is still there. One whose
-- end somebody waits for is left to complete.sql.
-- The ids ascend, so that the token beside an id is found by bisection; joined to its arrays instead, a plan made while
-- the queue was empty compared each job with each item (250 ms for 1000, against 2).
-- BETWEEN adds nothing but for PostgreSQL before 17, which, as long as it takes the queue for an empty one, reads all of
-- it by its queue_id and filters by ids: so it reads what lies between the first and the last of them.
delete from dibs.jobs j
where
  -- include shared/batch_by_id.sql
  and j.lease_token = (:lease_tokens::uuid[])[width_bucket(j.id, :ids::uuid[])]
  and j.state <> 'completed'
  and (j.awaited_until is null or j.awaited_until <= now())
returning j.id, j.group_key as "group";
