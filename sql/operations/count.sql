-- Counts the jobs of a portion. See shared/operation_matching.sql.
with
-- include shared/operation_matching.sql
)
select
  (select count(*)::integer from looked) as looked,
  (select id from looked order by id desc limit 1) as last_id,
  (select count(*)::integer from matching) as matched;
