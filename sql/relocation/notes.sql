-- The queues that leave this database, come back to it, or have arrived in it.
select queue_id, relocation from dibs.relocating_queues where role <> 'refused' and other is not null order by queue_id;
