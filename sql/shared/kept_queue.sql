-- The row of a queue as {kept} has it. One that an older Dibs kept lacks later columns: they get their defaults.
json_populate_record(
  json_populate_record(
    null::dibs.queues,
    json_build_object(
      'paused_groups', '{}'::text[],
      'group_concurrency', 1,
      'is_narrowing', false,
      'is_importing', false,
      'group_batches', 1
    )
  ),
  {kept}
)
