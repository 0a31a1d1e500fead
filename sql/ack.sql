-- Deletes done jobs. Also one whose lease ran out, while nobody else was given it: its token is still there.
delete from dibs.jobs j
using unnest($2::uuid[], $3::uuid[]) as done (id, lease_token)
where j.queue_id = $1
  and j.id = done.id
  and j.lease_token = done.lease_token
  and j.state <> 'completed'
returning j.id;
