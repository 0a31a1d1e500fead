-- Which rows of dibs.history go when it has too many, by queues. It reads about 1000 blocks.
with read as materialized (
  select least(1, 1000.0 * current_setting('block_size')::integer / greatest(pg_relation_size('dibs.history'), 1)) as share
),
sampled as materialized (
  select queue_id as owner, id, share
  from dibs.history tablesample system ((select 100 * share from read))
  cross join read
),
-- include shared/cuts.sql
;
