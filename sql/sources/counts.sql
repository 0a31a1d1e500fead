-- How many jobs another queue has, by queue and state. `becomes` is their state here, and null for those that stay there.
select queue, was, becomes, count(*)::integer as jobs
from (
  -- include sources/{source}.sql
) as job
group by queue, was, becomes
order by queue, was, becomes
