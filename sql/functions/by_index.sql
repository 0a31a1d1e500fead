-- The condition itself, for the conditions of indexes and the statements that go by them. Its price, which nobody pays
-- who goes by an index with this condition, keeps the planner from all other indexes (sql/migrations/0005_groups.sql).
-- The price is beyond any scan: a vacuum that may not remove dead entries notes an index of few jobs on many pages. Then the
-- planner takes one probe of it for the reading of hundreds of pages. At a price of 25 pages it went by the primary
-- key, over all entries of the queue: a survey took 60 s instead of 1 ms, so none ended, and claims found no job.
create or replace function dibs.by_index(condition boolean)
returns boolean
language plpgsql immutable parallel safe cost 1000000000000
as 'begin return condition; end';

revoke all on function dibs.by_index from public;
