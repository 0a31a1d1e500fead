-- The jobs that took the place of another one of their group (claim_firsts.sql): the rank and the key whose turn it was, by id.
(
  select jsonb_object_agg(given_id, jsonb_build_object('rank', rank, 'key', key))
  from line_up
  where given_id <> id
) as stand_ins
