-- Sends a notification to every replica, in a transaction of its own. Inside the transactions of enqueues, NOTIFY would
-- make all enqueues wait for each other.
select pg_notify('dibs', :message);
