-- The trigger of dibs.batch_followers for a follower that is in a batch itself. Where it was not enqueued, it counts there as
-- cancelled.
create or replace function dibs.note_lost_follower()
returns trigger
language plpgsql
as $function$
begin
  if coalesce(current_setting('dibs.follows', true), '') = '' then
    perform dibs.count_batch_end(old.joins, 'cancelled', 1);
  end if;
  return null;
end;
$function$;

revoke all on function dibs.note_lost_follower from public;
