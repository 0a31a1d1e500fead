-- Which of these claims another request holds, or answers for, by now. The requests :holders may not lease for them.
select claim.mark
from unnest(:marks::uuid[], :holders::uuid[]) as claim (mark, holder)
where exists (
  select
  from dibs.repeatable_claims c
  where c.mark = claim.mark and (c.holder <> claim.holder or c.answerers is not null)
  offset 0
);
