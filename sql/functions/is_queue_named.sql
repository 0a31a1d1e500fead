-- Whether anything may still name the queue of this number, which is gone since then. History, answers of idempotency keys and samples
-- are not found by the queue. Those from before its end are gone when all of that time are: of each, the oldest is one probe of an
-- index. The times have some room for clocks and long transactions.
create or replace function dibs.is_queue_named(number integer, since timestamptz)
returns boolean
language sql
stable
as $function$
select
  exists (select from dibs.queues where id = number)
  or exists (select from dibs.placements where queue_id = number)
  or (select id from dibs.jobs where queue_id = number order by queue_id, id limit 1) is not null
  or exists (select from dibs.unique_windows where queue_id = number)
  or exists (select from dibs.history where expires_at <= since + interval '30 days 12 hours')
  or exists (select from dibs.idempotency_keys where expires_at <= since + interval '36 hours')
  or exists (select from dibs.samples where minute <= since + interval '1 day')
  or exists (select from dibs.operations where state = 'running' and (queue_id = number or to_id = number))
  or exists (select from dibs.totals where queue_id = number)
  or exists (select from dibs.claim_limits where queue_id = number)
  or exists (select from dibs.claim_log where queue_id = number)
  or exists (select from dibs.fair_marks where queue_id = number)
  or exists (select from dibs.scan_floors where queue_id = number);
$function$;

revoke all on function dibs.is_queue_named from public;
