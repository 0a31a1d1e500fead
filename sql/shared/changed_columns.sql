-- The columns of a job `j` that a change sets as they are sent. What is null stays as it is.
-- Generated from src/jobFields.ts by "npm run generate".
priority = coalesce(:priority::smallint, j.priority),
max_attempts = coalesce(:max_attempts::integer, j.max_attempts),
headers = coalesce(:headers::json, j.headers)
