-- The columns that a new job takes as they are sent.
-- Generated from src/jobFields.ts by "npm run generate".
priority, max_attempts, backoff, headers, payload, unique_key, group_key, fairness_key
