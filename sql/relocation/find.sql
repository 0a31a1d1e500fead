-- A relocation by its id.
select
  -- include shared/relocation_columns.sql
from dibs.relocations r
where r.id = :id
  and
  -- include shared/visible_relocation.sql
;
