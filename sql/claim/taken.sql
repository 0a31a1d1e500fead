-- Which of these claims have another holder by now, or leases that were already given to a request. The requests
-- :holders may lease nothing for them.
select claim.mark
from unnest(:marks::uuid[], :holders::uuid[]) as claim (mark, holder)
where exists (
  select
  from dibs.repeatable_claims c
  where c.mark = claim.mark and (c.holder <> claim.holder or c.answerers is not null)
  offset 0
);
