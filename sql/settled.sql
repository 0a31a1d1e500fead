-- What became of jobs that a settling statement did not touch: gone, done before, or with somebody else.
select id, state, lease_token
from dibs.jobs
where queue_id = $1 and id = any ($2::uuid[]);
