-- Counts the queues that each database has more, or fewer, by now.
with home as (
  select from dibs.databases where name = 'home' for no key update
)
select dibs.count_placements() from home;
