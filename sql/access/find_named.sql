-- The ids of the keys that a text names by id or name. An id goes first.
select id
from dibs.access_keys
where id::text = :text or (name = :text and revoked_at is null)
order by id::text = :text desc
limit 1;
