-- The ready jobs in the order of a `line`, which the statement adds: the slot of each, and the bytes of those before it.
select
  id,
  row_number() over line as slot,
  bytes,
  sum(bytes) over line - bytes as bytes_before
from ready
