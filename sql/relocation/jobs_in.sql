-- In the target: copies jobs in. Each gets the next position.
copy dibs.jobs (
  -- include shared/relocated_columns.sql
) from stdin;
