-- What a nack or a release returns of a job `j`.
j.state, j.finished_at, j.result, j.awaited_until > now() as awaited,
-- include shared/is_keyless.sql
,
-- include shared/job_columns.sql
