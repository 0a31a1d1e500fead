-- The consumer that has the slot of a picked job `j`: see claim_picked.sql.
((select consumers from picked))[width_bucket(j.id, (select ids from picked))]
