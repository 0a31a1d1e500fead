-- Notes a new relocation. Those that ended 30 days ago go.
with old as (
  delete from dibs.relocations where phase = 'ended' and finished_at < now() - interval '30 days'
)
insert into dibs.relocations as r (id, queue_id, queue, source, target, dry_run)
values (:id, :queue_id, :queue, :source, :target, :dry_run)
returning
  -- include shared/relocation_columns.sql
;
