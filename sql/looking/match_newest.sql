-- The ids of up to :limit jobs that match, newest first, how many jobs it looked at, and the last one of these. See
-- shared/matched_jobs.sql.
-- include shared/matched_jobs.sql
    and (:after::uuid is null or id < :after)
  order by id desc
  limit (select :look::integer)
)
select
  (select count(*)::integer from looked) as looked,
  (select id from looked order by id asc limit 1) as last_id,
  array(
    select id
    -- include shared/matched_ids.sql
    order by id desc
    limit (select :limit::integer)
  ) as ids;
