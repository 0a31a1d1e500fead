-- The index that a look at all queues walks: by group, by unique key, or by id alone. It must not narrow the jobs by anything that this
-- index does not have.
(:group::text is null or group_key = :group)
and (:unique_key::text is null or unique_key = :unique_key)
