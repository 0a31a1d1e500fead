-- How many jobs are still there.
select count(*)::integer as count from queue;
