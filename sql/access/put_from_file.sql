-- Puts in the key of ADMIN_KEY_FILE. Another replica may have done so at the same moment.
insert into dibs.access_keys (id, name, hash, scopes, queues, is_from_file)
values (:id, :name, decode(:hash, 'base64'), array['admin'], array['*'], true)
on conflict do nothing;
