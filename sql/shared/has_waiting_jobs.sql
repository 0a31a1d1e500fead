-- Whether jobs of the batch `b` wait.
exists (
  select from dibs.jobs j where j.batch_id = b.id and j.state in ('scheduled', 'blocked', 'ready')
)
