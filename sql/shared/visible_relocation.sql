-- The relocations `r` whose queues the caller may see: `visible` has patterns, or is null for all.
(:visible::text[] is null or r.queue like any (:visible))
