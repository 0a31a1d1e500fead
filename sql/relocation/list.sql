-- A page of relocations, newest first.
select
  -- include shared/relocation_columns.sql
from dibs.relocations r
where (:after::uuid is null or r.id < :after)
  and (:queue::text is null or r.queue = :queue)
  and (:state::text is null or r.state = :state)
  and
  -- include shared/visible_relocation.sql
order by r.id desc
limit :limit;
