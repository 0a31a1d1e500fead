-- What a role lacks, in words: "update on table dibs.jobs, usage on schema dibs".
string_agg(concat(privilege, ' on ', kind, ' dibs', '.' || nullif(name, 'dibs')), ', ' order by name, privilege)
