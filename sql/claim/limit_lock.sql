-- Keeps other claims out of a queue with a claim limit until this transaction ends. The statements after it see
-- everything that was claimed before.
select queue_id from dibs.claim_limits where queue_id = :queue_id for update;
