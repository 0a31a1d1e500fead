-- Notes what a portion did, in its transaction. An operation that is done has skipped what it counted and did not do.
with forgotten as (
  delete from dibs.operation_leases where operation_id = :id and :state <> 'running'
)
update dibs.operations
set
  state = :state,
  error = :error,
  counted = :counted,
  step = :step,
  after_id = :after_id,
  matched = matched + :matched::integer,
  done = done + :done::integer,
  skipped = case
    when :state = 'done' and not dry_run then greatest(matched - done - :done, 0)
    else skipped + :skipped::integer
  end,
  worked_at = clock_timestamp(),
  finished_at = case when :state <> 'running' then clock_timestamp() end
where id = :id and state = 'running';
