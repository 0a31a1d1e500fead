-- The jobs of a queue `q` that a list shows.
queue_id = q.id
and (:state::dibs.job_state is null or state = :state)
and (:group::text is null or group_key = :group)
and (:unique_key::text is null or unique_key = :unique_key)
and (:ids::uuid[] is null or id = any (q.ids))
