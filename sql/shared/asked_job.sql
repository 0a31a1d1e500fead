-- A new job as it was asked for, of the record {from}.
({from}).delay_seconds, ({from}).run_at, ({from}).priority, ({from}).max_attempts, ({from}).backoff, ({from}).headers,
({from}).payload, ({from}).unique_key, ({from}).unique_for_seconds, ({from}).group_key as "group",
({from}).fairness_key, ({from}).expires_in_seconds
