-- Whether a queue has no jobs at all.
select not exists (select from dibs.jobs where queue_id = $1) as empty;
