-- Says that a statement deletes as somebody who is no worker. A job of a batch that it deletes counts there as cancelled, and a dead
-- one as {dead}: as `cancelled` where somebody wants it gone, and still as `dead` otherwise. See functions/note_batch_end.sql.
(select set_config('dibs.no_ack', '{dead}', true)) = '{dead}'
