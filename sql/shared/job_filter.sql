-- Whether a job is one that a filter asks for, beside its queue and state. What is null filters nothing. Lists of
-- jobs and operations have it in common.
(:group::text is null or group_key = :group)
and (:fairness_key::text is null or fairness_key = :fairness_key)
and (:worker::text is null or worker = :worker)
and (:error_contains::text is null or strpos(last_error, :error_contains) > 0)
and (:created_after::timestamptz is null or created_at >= :created_after)
and (:created_before::timestamptz is null or created_at < :created_before)
