-- What stands in the way of a new key: how many keys there are, and whether one has its name.
select count(*)::integer as keys, coalesce(bool_or(name = :name), false) as has_name
from dibs.access_keys
where revoked_at is null;
