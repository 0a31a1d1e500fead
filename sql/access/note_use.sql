-- Notes the minute in which keys were used. Another replica may be noting the same keys.
update dibs.access_keys
set last_used_at = date_trunc('minute', now())
where id = any (array(
    select id
    from dibs.access_keys
    where id = any (:ids::uuid[]) and (last_used_at is null or last_used_at < date_trunc('minute', now()))
    for no key update skip locked
  ));
