-- Deletes any 1000 jobs of a queue, whatever their state.
delete from dibs.jobs
where queue_id = $1
  and id = any (array(select id from dibs.jobs where queue_id = $1 order by id limit 1000))
returning id;
