-- The indexes of Dibs: their sizes, and what their entries need. An entry has 8 bytes and a pointer of 4 besides its columns,
-- and a page is nine tenths full at first. Column widths are those that ANALYZE found, 16 where it has not been there.
select
  i.relname::text as name,
  x.indisvalid as is_valid,
  pg_relation_size(i.oid) as bytes,
  greatest(i.reltuples, 0)::double precision as entries,
  16384 + greatest(i.reltuples, 0)::double precision * (12 + width.bytes) / 0.9 as needed
from pg_index x
join pg_class i on i.oid = x.indexrelid
join pg_class t on t.oid = x.indrelid
cross join lateral (
  select sum(coalesce(s.avg_width, 16) + 4) as bytes
  from unnest(x.indkey::smallint[]) as key (attnum)
  left join pg_attribute a on a.attrelid = t.oid and a.attnum = key.attnum and key.attnum > 0
  left join pg_stats s on s.schemaname = 'dibs' and s.tablename = t.relname and s.attname = a.attname
) as width
where i.relnamespace = 'dibs'::regnamespace
order by bytes desc, i.relname;
