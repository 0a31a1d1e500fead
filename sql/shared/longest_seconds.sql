-- The longest delay, expiry, retention or window: 366 days. src/job.ts has the same number.
366 * 86400
