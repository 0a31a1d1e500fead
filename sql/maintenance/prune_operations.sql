-- Deletes operations that ended :days ago, and those that have :most newer ones. They are few: see MOST_RUNNING in
-- src/admin/operations.ts.
delete from dibs.operations
where id = any (array(
    select id
    from dibs.operations
    where state <> 'running'
      and (
        finished_at <= now() - :days::integer * interval '1 day'
        or id <= (select id from dibs.operations where state <> 'running' order by id desc offset :most limit 1)
      )
    limit 1000
    for update skip locked
  ))
returning id;
