-- Fairness: within one priority, keys take turns.

-- Whether a queue ever had a job with a fairness key: only then its claims look for turns.
alter table dibs.queues add fair boolean not null default false;

-- Keys are walked in the order of an index: by their bytes, which no library's sense of order changes, and which is quicker.
alter table dibs.jobs alter fairness_key type text collate "C";

-- What has no key stays in an index of its own, so that claims cost those nothing who give none. Every ready job is in one of the two.
drop index dibs.jobs_ready;
create index jobs_ready on dibs.jobs (queue_id, (-priority), position)
  where state = 'ready' and fairness_key is null;
create index jobs_fair on dibs.jobs (queue_id, (-priority), fairness_key, position)
  where state = 'ready' and fairness_key is not null;
