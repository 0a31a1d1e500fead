-- Whether the duty of batches has anything to do. Nearly always it has nothing, where nobody uses batches.
select
  exists (select from dibs.batch_ends)
  or exists (select from dibs.batch_followers where due_at <= now())
  or exists (select from dibs.batches where cancelled_at is not null and finished_at is null) as has_work;
