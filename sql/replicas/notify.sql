-- A message to every replica, on its own: NOTIFY inside the enqueue's transaction would make all enqueues queue up.
select pg_notify('dibs', :message);
