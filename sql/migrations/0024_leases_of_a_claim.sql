-- Finds the leases of a claim. Only statements that say dibs.by_index may use this index (0005_groups.sql), and none of them takes
-- another one. While no job was leased when the table was analyzed, jobs_leased seemed as cheap: it is the lower tree, because the
-- times of leases ascend and the holders do not. Then each claim with a claim_id went over all leases that an old transaction
-- keeps in that index.
-- That there is a holder is asked first, so that jobs without one never come to the function.
drop index dibs.jobs_claim_holder;
create index jobs_claim_holder on dibs.jobs (claim_holder)
  where claim_holder is not null and dibs.by_index(state = 'leased');

-- No statement has read it since 0014.
drop index dibs.jobs_claim_id;
