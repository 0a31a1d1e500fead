-- The version of the schema of Oban: the comment on its table. The Oban of Python writes none.
select substring(obj_description('oban_jobs'::regclass, 'pg_class') from '^\d+$')::integer as version
