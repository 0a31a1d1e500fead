-- The last migration applied.
select max(version) as version from dibs.migrations;
