-- Whether this connection takes writes. A server that was demoted does not, and hears nothing of what is written to the new one.
select not current_setting('transaction_read_only')::boolean as takes_writes;
