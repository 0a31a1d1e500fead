-- The jobs of a portion (`matching`), and how far it has looked (`looked`).
select
  (select count(*)::integer from looked) as looked,
  (select id from looked order by id desc limit 1) as last_id,
  array(select id from matching order by id) as ids,
  array(select unique_key from matching order by id) as unique_keys,
  array(select headless from matching where headless is not null) as headless
