-- Ready jobs with a fairness key, by position: a claim goes by them while dead index entries make the walk over the keys
-- slow. Only statements that say dibs.by_index may use this index (0005_groups.sql): no plan takes it for jobs_fair.
-- That there is a key is asked first, so that jobs without one never come to the function.
create index jobs_fair_arrival on dibs.jobs (queue_id, (-priority), position)
  where fairness_key is not null and dibs.by_index(state = 'ready');

-- The scan floor of the jobs with a fairness key. `position` is that of the others.
alter table dibs.scan_floors add fair_position bigint not null default -1;
