-- The database for the new queue `asked`, in home: the one where queues with the same first part of the name are, if it is open,
-- else the open database with the fewest queues, if possible none that is `away`. Null where none is open.
coalesce(
  (
    select p.database
    from dibs.placements p
    join dibs.databases d on d.name = p.database
    where p.first_part = split_part(translate(asked, ':', '.'), '.', 1) and d.accepts_queues
    order by p.queue_id desc
    limit 1
  ),
  (
    select d.name
    from dibs.databases d
    where d.accepts_queues
    order by d.name = any (away), d.queues, d.created_at, d.name
    limit 1
  )
)
