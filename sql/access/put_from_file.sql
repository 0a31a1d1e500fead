-- Puts in the key of ADMIN_KEY_FILE, with its audit row. Another replica may have done so at the same moment.
with put as (
  insert into dibs.access_keys (id, name, hash, scopes, queues, is_from_file)
  values (:id, :name, decode(:hash, 'base64'), array['admin'], array['*'], true)
  on conflict do nothing
  returning id
)
insert into dibs.audit (actor, verb, key_id, outcome)
select 'ADMIN_KEY_FILE', 'createKey', id, 'done'
from put;
