-- Names the queue that jobs_out.sql copies, for this transaction.
select set_config('dibs.leaving', :queue_id::integer::text, true);
