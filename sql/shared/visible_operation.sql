-- The operations `o` whose queues the caller may see: `visible` has patterns, or is null for all.
(
  :visible::text[] is null
  or o.queue like any (:visible) and (o.to_queue is null or o.to_queue like any (:visible))
)
