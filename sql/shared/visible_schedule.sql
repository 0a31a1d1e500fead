-- The schedules whose queue the caller may see: `visible` has patterns, or is null for all.
(:visible::text[] is null or coalesce(job ->> 'queue', 'default') like any (:visible))
