-- Names what to delete of {table} when it has more than :most rows, so that about nine tenths of :most are left. It reads a sample of
-- about 1000 blocks: `share` is the part of the table that was read. Each {owner} with few rows keeps them all. The others keep
-- equally many, the newest: their rows up to the id `up_to` go.
with read as materialized (
  select least(1, 1000.0 * current_setting('block_size')::integer / greatest(pg_relation_size('{table}'), 1)) as share
),
sampled as materialized (
  select {owner} as owner, id, share
  from {table} tablesample system ((select 100 * share from read))
  cross join read
),
sizes as (
  select owner, count(*) / min(share) as n from sampled group by owner
),
-- How many rows each owner could keep, if all that have fewer rows than this one keep theirs.
levels as (
  select
    n,
    (0.9 * :most::integer - coalesce(sum(n) over smaller, 0)) / (count(*) over () - row_number() over smaller + 1) as level
  from sizes
  window smaller as (order by n, owner rows between unbounded preceding and 1 preceding)
)
select
  sampled.owner::text as owner,
  percentile_disc(1 - kept.level / sizes.n) within group (order by sampled.id) as up_to
from (select max(level) as level from levels where n > level) as kept
join sizes on sizes.n > kept.level
join sampled on sampled.owner = sizes.owner
where (select sum(n) from sizes) > :most::integer
group by sampled.owner, sizes.n, kept.level;
