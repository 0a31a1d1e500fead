-- What an idempotency key keeps of a job of `asked` that is inserted now: the attributes of dibs.kept_job, in its order.
-- Generated from src/jobFields.ts by "npm run generate".
asked.id, :queue::text, state, priority, 0, max_attempts, 0, group_key, fairness_key, unique_key, decided_run_at, now(),
headers, null, null, null, null, null, null, null, null
