-- Deletes any 1000 jobs of a queue, whatever their state.
-- The limit stands in a sub-select for the planner's sake: see claim.sql.
delete from dibs.jobs
where queue_id = $1
  and id = any (array(select id from dibs.jobs where queue_id = $1 order by id limit (select 1000)))
returning id;
