-- In the target: leases that ran out while calls had to wait, or are about to, last for :seconds from now. Their workers could not
-- extend them.
update dibs.jobs
set lease_expires_at = clock_timestamp() + :seconds::double precision * interval '1 second'
where queue_id = :queue_id
  and state = 'leased'
  and lease_expires_at < clock_timestamp() + :seconds::double precision * interval '1 second';
