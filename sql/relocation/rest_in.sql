-- In the target: puts in what else a queue has.
with limits as (
  insert into dibs.claim_limits select * from json_populate_recordset(null::dibs.claim_limits, :limits::json)
),
log as (
  insert into dibs.claim_log select * from json_populate_recordset(null::dibs.claim_log, :log::json)
)
insert into dibs.repeatable_claims
select * from json_populate_recordset(null::dibs.repeatable_claims, :claims::json)
on conflict (mark) do nothing;
