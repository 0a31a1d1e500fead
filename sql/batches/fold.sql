-- Adds :limit rows of dibs.batch_ends to their batches. Returns these batches, and how many rows there were.
with taken as materialized (
  delete from dibs.batch_ends
  where ctid = any (array(
      select ctid from dibs.batch_ends limit (select :limit::integer) for update skip locked
    ))
  returning batch_id, state, change
),
sums as materialized (
  select
    batch_id,
    count(*)::integer as rows,
    coalesce(sum(change) filter (where state = 'completed'), 0) as completed,
    coalesce(sum(change) filter (where state = 'cancelled'), 0) as cancelled,
    coalesce(sum(change) filter (where state = 'dead'), 0) as dead
  from taken
  group by batch_id
),
locked as materialized (
  select id from dibs.batches where id in (select batch_id from sums) order by id for no key update
),
added as (
  update dibs.batches b
  set
    completed = b.completed + sums.completed,
    cancelled = b.cancelled + sums.cancelled,
    dead = b.dead + sums.dead
  from sums
  where b.id = sums.batch_id and b.id in (select id from locked)
)
select batch_id as id, rows from sums;
