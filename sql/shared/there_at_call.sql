-- Whether a job was there, as it is now, when the purge was called (operations/call_point.sql). A job that comes, or comes back,
-- takes a new position. But a verb reserves that position before its transaction, and a user's transaction may commit
-- late. So the row must also be from before the call: not from a transaction that was open, or one of the next 2^28.
position <= :last_position::bigint
and xmin::text <> all (:open_transactions::text[])
and (xmin::text::bigint - :next_transaction::bigint + 4294967296) % 4294967296 >= 268435456
