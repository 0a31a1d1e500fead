-- Batches that are cancelled and have not ended: jobs of them may still wait.
select id
from dibs.batches
where cancelled_at is not null and finished_at is null
order by cancelled_at
limit 100;
