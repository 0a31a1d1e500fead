-- What everybody sees of an operation `o`.
o.id, o.verb, o.queue, o.to_queue as "to",
o.states, o.group_key as "group", o.fairness_key, o.worker, o.error_contains, o.created_after, o.created_before,
o.dry_run, o.state, o.counted, o.matched, o.done, o.skipped, o.error, null::double precision as hold_seconds, o.created_at,
o.finished_at
