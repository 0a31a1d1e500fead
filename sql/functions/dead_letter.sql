-- The trigger of dibs.jobs for a job that has become dead: puts it into the dead letter queue of its queue, as a new job, in
-- the same commit. See docs/decisions/0099-dead-letter-queues.md.
-- The job stays dead in its own queue when there is no such queue in this database. A full one takes it.
-- The new job has no unique key: a second dead job of the key must not be dropped as a duplicate.
-- The old job ends as `cancelled`, with the id of the new one, where its queue keeps finished jobs or a client waits for it. So
-- it is in no redrive. Its lease token goes: a late settlement is refused.
--
-- It runs with the rights of its owner: the role of a replica may do only a part of this by itself.
create or replace function dibs.dead_letter()
returns trigger
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $function$
declare
  own dibs.queues;
  dead_letters dibs.queues;
  letter dibs.jobs;
begin
  select * into own from dibs.queues q where q.id = new.queue_id;
  if own.dead_letter_queue is null then
    return null;
  end if;
  select * into dead_letters from dibs.queues q where q.name = own.dead_letter_queue;
  if not found then
    return null;
  end if;
  letter := dibs.put_in(
    dead_letters,
    row(
      dibs.new_id(dead_letters.id), 0, null, new.priority, new.max_attempts,
      new.backoff,
      dibs.dead_letter_headers(new.headers, own.name, new.last_error),
      new.payload,
      null, null, new.group_key, new.fairness_key,
      null, null
    )::dibs.new_job
  );
  if letter.id is null then
    return null;
  end if;

  -- A duplicate is told how the job ended, also when its row is gone.
  if new.unique_key is not null then
    update dibs.unique_windows
    set ended_as = 'dead'
    where queue_id = new.queue_id and unique_key = new.unique_key and job_id = new.id;
  end if;
  if own.retention_seconds > 0 or new.awaited_until > now() then
    update dibs.jobs
    set state = 'cancelled', moved_to = letter.id, lease_token = null
    where queue_id = new.queue_id and id = new.id;
  else
    perform set_config('dibs.no_ack', 'dead', true);
    delete from dibs.jobs where queue_id = new.queue_id and id = new.id;
    perform set_config('dibs.no_ack', '', true);
  end if;
  return null;
end;
$function$;

revoke all on function dibs.dead_letter from public;
