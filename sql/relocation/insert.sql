-- Keeps a new relocation, unless :most are running, or :most_of_one of this caller. Of those that ended, the caller's last
-- :most_kept of the last 30 days are kept.
with old as (
  delete from dibs.relocations
  where phase = 'ended'
    and (
      finished_at < now() - interval '30 days'
      or id in (
        select id
        from dibs.relocations
        where phase = 'ended' and actor is not distinct from :by::text
        order by id desc
        offset (select :most_kept::integer)
      )
    )
)
insert into dibs.relocations as r (id, queue_id, queue, source, target, dry_run, actor)
select :id, :queue_id, :queue, :source, :target, :dry_run, :by
from (
  select count(*) as running, count(*) filter (where actor is not distinct from :by::text) as own
  from dibs.relocations
  where phase <> 'ended'
) as now
where now.running < :most::integer and now.own < :most_of_one::integer
returning
  -- include shared/relocation_columns.sql
;
