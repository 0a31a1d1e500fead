-- For so long, the number of a queue that is gone is not used again. Nothing that outlives a queue is kept longer, but windows of unique
-- keys: the history of jobs for 30 days.
interval '31 days'
