-- Deletes finished jobs of one queue and state that outlived $3 seconds, the oldest 1000.
-- The limit stands in a sub-select for the planner's sake: see claim.sql.
delete from dibs.jobs j
where j.queue_id = $1
  and j.id = any (array(
    select id
    from dibs.jobs
    where queue_id = $1
      and state = $2::dibs.job_state
      and finished_at <= now() - $3::double precision * interval '1 second'
    order by finished_at
    limit (select 1000)
    for update skip locked
  ))
returning j.id;
