-- Says that a statement deletes as somebody who is no worker. A job of a batch that it deletes counts there as cancelled: see
-- functions/note_batch_end.sql.
(select set_config('dibs.no_ack', 'on', true)) = 'on'
