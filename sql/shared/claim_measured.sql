-- The jobs {of} in the order of a `line`, which the statement adds: the slot of each, and the bytes of those before it.
select
  {id} as id,
  row_number() over line as slot,
  {bytes} as bytes,
  sum({bytes}) over line - {bytes} as bytes_before
from {of}
