-- The first job that a claim passed over: see claim_firsts.sql.
(select rank from passed) as passed_rank, (select position from passed) as passed_position
