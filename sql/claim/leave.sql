-- The consumer of :request has hung up. So :request does not answer for the leases of its claim any more.
update dibs.repeatable_claims c
set
  answerers = array_remove(coalesce(c.answerers, array[c.holder]), :request::uuid),
  waits = false,
  looking_until = null
where c.mark = :mark and :request = any (coalesce(c.answerers, array[c.holder]));
