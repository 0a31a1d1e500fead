-- Whether a job `j` has to get its unique key again, when it comes back. See functions/regain_keys.sql.
j.own_key is not null and j.unique_key is null as is_keyless
