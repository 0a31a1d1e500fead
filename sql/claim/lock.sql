-- Locks the row of a claim. Makes the row if there is none. The next statement (repeat.sql) sees all that other
-- requests leased while they held this lock.
-- The row stays for at least 75 s: no claim waits for more than 60 s.
insert into dibs.repeatable_claims as c (mark, holder, until)
values (:mark, :request, statement_timestamp() + interval '75 seconds')
on conflict (mark) do update
set until = case when c.until < excluded.until then excluded.until + interval '75 seconds' else c.until end
returning c.holder, c.waits, coalesce(c.looking_until > statement_timestamp(), false) as looks;
