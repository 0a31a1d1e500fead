-- The last migration applied, and the oldest Dibs that works with all that are, named by the last migration that it knows. Read as JSON,
-- the column `oldest` may be missing: an older Dibs made the table.
select max(version) as version, max(coalesce((to_jsonb(m) ->> 'oldest')::integer, version)) as oldest from dibs.migrations m;
