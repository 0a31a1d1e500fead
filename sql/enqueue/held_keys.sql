-- Those of the unique keys that a job or a window of the queue holds.
select unique_key
from unnest(:unique_keys::text[]) as asked (unique_key)
where dibs.is_key_held(:queue_id, unique_key);
