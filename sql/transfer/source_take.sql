-- Notes jobs of another queue as taken. Returns those that no import has taken before, with the time. Each is kept like the
-- answer to a request with an idempotency key. An import that takes the same jobs at this moment waits, and then leaves
-- them out. The keys ascend, so that two of them cannot deadlock.
insert into dibs.idempotency_keys (route, key, fingerprint, expires_at, body)
select :route, source.key, sha256(convert_to(source.key, 'UTF8')), now() + interval '366 days', '{}'
from unnest(:keys::text[]) as source (key)
order by source.key
on conflict (route, key) do nothing
returning key, statement_timestamp() as now;
