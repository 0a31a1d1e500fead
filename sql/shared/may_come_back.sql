-- Whether a job `j` may leave its state without a unique key in its way. A dead job with a key may only if :late is true
-- and no other job holds the key. Even so it may have to wait for a transaction that takes the key at this moment: the
-- caller limits that wait. OFFSET keeps the look at the key a probe of an index.
j.state <> 'dead'
or j.unique_key is null
or (
  :late
  and not exists (
    select from dibs.jobs holder
    where holder.queue_id = :queue_id
      and holder.unique_key = j.unique_key
      and holder.state in ('scheduled', 'ready', 'blocked', 'leased')
    offset 0
  )
)
