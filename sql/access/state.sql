-- Tells whether the keys have changed, and whether there was ever one.
select version, has_had_keys
from dibs.access_state;
