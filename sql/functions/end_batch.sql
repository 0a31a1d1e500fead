-- Ends a batch that is closed, when all of its jobs are finished: enqueues its followers, in the same commit.
--
-- Two transactions may finish the last two jobs at once, and neither sees what the other did. So near its end, transactions take
-- the lock of the batch, one after the other, and each counts again behind it. Far from its end, none takes it: the batch has more
-- unfinished jobs than transactions finish at once. Where they do finish more, the duty (batches/fold.sql) ends the batch.
create or replace function dibs.end_batch(asked uuid)
returns void
language plpgsql
as $function$
declare
  near_end constant integer := 128;
  batch dibs.batches;
  is_unfinished boolean;
  follower dibs.batch_followers;
begin
  perform from dibs.batches where id = asked and closed_at is not null and not succeeded;
  if not found or dibs.unfinished_in_batch(asked, near_end + 1) > near_end then
    return;
  end if;
  select * into batch from dibs.batches where id = asked for no key update;
  if not found or batch.succeeded or dibs.unfinished_in_batch(asked, 1) > 0 then
    return;
  end if;
  -- One statement, so all is of one moment: a dead job that comes back is counted as dead or as unfinished.
  select
    dibs.unfinished_in_batch(asked, 1) > 0 or exists (select from dibs.batch_followers where joins = asked),
    batch.cancelled + coalesce(sum(change) filter (where state = 'cancelled'), 0),
    batch.dead + coalesce(sum(change) filter (where state = 'dead'), 0)
  into is_unfinished, batch.cancelled, batch.dead
  from dibs.batch_ends
  where batch_id = asked;
  if is_unfinished then
    return;
  end if;
  batch.succeeded := batch.cancelled + batch.dead = 0;
  update dibs.batches
  set finished_at = coalesce(finished_at, now()), ended_at = now(), succeeded = batch.succeeded
  where id = asked;

  for follower in
    select * from dibs.batch_followers where batch_id = asked order by on_success
  loop
    if not follower.on_success or batch.succeeded then
      perform dibs.enqueue_follower(follower);
    elsif batch.cancelled > 0 then
      delete from dibs.batch_followers where batch_id = asked and on_success;
    end if;
  end loop;
  perform pg_notify('dibs', 'done sql ' || asked);
end;
$function$;

revoke all on function dibs.end_batch from public;
