-- Sends notifications to every replica, in a transaction of its own. Inside the transactions of enqueues, NOTIFY would
-- make all enqueues wait for each other.
select pg_notify('dibs', message)
from unnest(:messages::text[]) as message;
