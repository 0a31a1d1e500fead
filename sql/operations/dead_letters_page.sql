-- The next :limit jobs of one queue behind the id :after. A job is wanted if it came here as a dead letter before :called_at,
-- nobody works on it, its error contains :error_contains, and it came from a queue that the caller may touch (:visible).
-- It goes over the primary key, whatever the states of the jobs are. Keys are told apart by the queues where they will be held:
-- names of queues have no spaces.
select
  id,
  state::text in ('scheduled', 'ready', 'blocked', 'dead')
    and created_at <= :called_at::timestamptz
    and dibs.dead_letter_header(headers, 'dibs-dead-from') is not null
    and (:visible::text[] is null or dibs.dead_letter_header(headers, 'dibs-dead-from') like any (:visible::text[]))
    and (:error_contains::text is null or strpos(dibs.dead_letter_header(headers, 'dibs-dead-error'), :error_contains) > 0) as wanted,
  dibs.dead_letter_header(headers, 'dibs-dead-from') || ' ' || unique_key as unique_key
from dibs.jobs
where queue_id = :queue_id and id > :after::uuid
order by id
limit (select :limit::integer);
