-- The version of the schema of pg-boss.
select max(version)::integer as version from version
