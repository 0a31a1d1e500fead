-- About how many bytes of an answer a job takes, as sent by its users and workers.
payload_bytes + octet_length(headers::text) + coalesce(octet_length(last_error), 0) + coalesce(octet_length(progress::text), 0)
