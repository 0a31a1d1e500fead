-- Where the dead jobs of a queue go. See docs/decisions/0099-dead-letter-queues.md.
-- oldest: 24
alter table dibs.queues
  add column dead_letter_queue text,
  add constraint queue_dead_letter check (dead_letter_queue ~ '^[A-Za-z0-9._:-]{1,128}$' and dead_letter_queue <> name);

-- As which job it went there.
alter table dibs.jobs add column moved_to uuid;
alter table dibs.relocating_jobs add column moved_to uuid;

-- sql/functions make it anew, with its text.
create function dibs.dead_letter() returns trigger language plpgsql as $$ begin return null; end; $$;

create trigger jobs_dead_letter
  after update of finished_at on dibs.jobs
  for each row
  when (new.state = 'dead' and old.state <> 'dead')
  execute function dibs.dead_letter();
