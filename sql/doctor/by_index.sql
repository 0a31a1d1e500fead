-- Lets the planner of this transaction read a table whole, or sort what an index finds, only where there is no other way.
select
  set_config('enable_seqscan', 'off', true) as seqscan,
  set_config('enable_bitmapscan', 'off', true) as bitmapscan;
