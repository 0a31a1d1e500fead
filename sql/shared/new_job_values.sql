-- What goes into the columns of new_job_columns.sql, of a job `new`.
-- Generated from src/jobFields.ts by "npm run generate".
new.priority, new.max_attempts, new.backoff::json, new.headers::json, new.payload::json, new.unique_key, new.group_key,
new.fairness_key
