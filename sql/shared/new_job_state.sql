-- The state of a job `new` that is `due`. A job of a group is inserted blocked. After the commit, src/groups/heads.ts
-- advances the group.
(case
  when due.run_at > now() then 'scheduled'
  when new.group_key is not null then 'blocked'
  else 'ready'
end)::dibs.job_state
