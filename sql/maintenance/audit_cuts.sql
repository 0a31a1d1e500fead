-- Which rows of dibs.audit go when it has too many, by callers. It reads about 1000 blocks.
with read as materialized (
  select least(1, 1000.0 * current_setting('block_size')::integer / greatest(pg_relation_size('dibs.audit'), 1)) as share
),
sampled as materialized (
  select actor as owner, id, share
  from dibs.audit tablesample system ((select 100 * share from read))
  cross join read
),
-- include shared/cuts.sql
;
