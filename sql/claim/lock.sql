-- Locks the row of a claim, and makes one if there is none. The statement after it (repeat.sql) sees all that was
-- leased under the lock before. The row stays longer than any claim waits.
insert into dibs.repeatable_claims as c (mark, holder, until)
values (:mark, :request, statement_timestamp() + interval '75 seconds')
on conflict (mark) do update
set until = case when c.until < excluded.until then excluded.until + interval '75 seconds' else c.until end
returning c.holder, c.waits, coalesce(c.looking_until > statement_timestamp(), false) as looks;
