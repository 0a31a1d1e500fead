-- What stands in the first line of an export. Sequences are read without a snapshot, so they may be a little ahead.
select row_to_json(line)::text as line
from (
  select
    'header' as kind,
    2 as dibs_export,
    gen_random_uuid() as id,
    :version::text as version,
    (select max(version) from dibs.migrations) as migration,
    now() as exported_at,
    (select last_value from dibs.positions) as positions,
    (select count(*) from dibs.jobs) + (select count(*) from dibs.relay) as jobs
) as line;
