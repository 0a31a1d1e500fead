-- Counts the jobs that are still there.
select count(*)::integer as count from queue;
