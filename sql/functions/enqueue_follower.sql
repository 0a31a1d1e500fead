-- Enqueues a follower of a batch, and forgets it. One that cannot be enqueued at once, because an open transaction holds its
-- unique key, stays, and is due: the batch ends all the same.
-- The header `dibs-batch` tells which batch it follows.
-- It runs with the rights of its owner: a replica may not insert jobs in this way by itself.
create or replace function dibs.enqueue_follower(follower dibs.batch_followers)
returns void
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $function$
declare
  waits constant text := current_setting('lock_timeout');
  found_queue dibs.queues;
  job dibs.jobs;
begin
  perform set_config('lock_timeout', '50ms', true);
  loop
    select * into found_queue from dibs.queues q where q.name = follower.queue;
    if found then
      job := dibs.put_in(
        found_queue,
        row(
          dibs.new_id(found_queue.id), follower.delay_seconds, follower.run_at, follower.priority,
          coalesce(follower.max_attempts, found_queue.max_attempts),
          follower.backoff,
          -- include shared/follower_headers.sql of=follower
          ,
          follower.payload,
          follower.unique_key, follower.unique_for_seconds, follower.group_key, follower.fairness_key,
          follower.expires_in_seconds, null
        )::dibs.new_job,
        follower.on_duplicate is not distinct from 'replace',
        follower.joins,
        follower.unique_until is not distinct from 'claimed'
      );
      exit when job.id is not null;
    end if;
    insert into dibs.queues (name) values (follower.queue) on conflict (name) do nothing;
  end loop;
  -- A duplicate joins no batch.
  if job.batch_id is not distinct from follower.joins then
    perform set_config('dibs.follows', 'on', true);
  end if;
  delete from dibs.batch_followers where batch_id = follower.batch_id and on_success = follower.on_success;
  perform set_config('dibs.follows', '', true);
  perform set_config('lock_timeout', waits, true);
exception
  when others then
    update dibs.batch_followers
    set due_at = now() + interval '1 second'
    where batch_id = follower.batch_id and on_success = follower.on_success;
end;
$function$;

revoke all on function dibs.enqueue_follower from public;
