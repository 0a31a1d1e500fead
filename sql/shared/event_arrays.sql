-- An array for each column of event_columns.sql.
-- Generated from src/verbs/counting.ts by "npm run generate".
:enqueued::bigint[], :deduplicated::bigint[], :claimed::bigint[], :acked::bigint[], :nacked::bigint[],
:released::bigint[], :rescued::bigint[], :expired::bigint[], :dead::bigint[]
