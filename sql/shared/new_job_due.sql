-- When a job `new` is due.
coalesce(new.run_at, now() + new.delay_seconds * interval '1 second') as run_at
