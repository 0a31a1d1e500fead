-- Makes a job id as src/ids.ts does: a UUIDv7 with the queue's id in its last 24 bits. The 12 bits after the millisecond
-- are the clock's microseconds (RFC 9562, method 3), so the ids that one session makes ascend.
create or replace function dibs.new_id(queue integer)
returns uuid
language sql
volatile
as $function$
select (
  lpad(to_hex(clock.micros / 1000), 12, '0')
  || '7' || lpad(to_hex(clock.micros % 1000 * 4096 / 1000), 3, '0')
  || substr(random.digits, 17, 10)
  || lpad(to_hex($1), 6, '0')
)::uuid
from (select (extract(epoch from clock_timestamp()) * 1000000)::bigint as micros) as clock
cross join (select replace(gen_random_uuid()::text, '-', '') as digits) as random;
$function$;

revoke all on function dibs.new_id from public;
