-- What everybody sees of a relocation `r`.
r.id, r.queue, r.target as "to", r.dry_run, r.state, r.phase <> 'counting' as counted, r.matched, r.done, r.error,
r.hold_seconds, r.created_at, r.finished_at
