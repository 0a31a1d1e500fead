-- Lets one replica at a time change the totals. Each holds them for about a millisecond.
select queue_id from dibs.totals where queue_id = 0 for update;
