-- Deletes cancelled jobs of a queue that keeps none.
delete from dibs.jobs
where queue_id = $1 and id = any ($2::uuid[]) and state = 'cancelled';
