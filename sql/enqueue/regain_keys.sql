-- Gives jobs that came back their unique keys again: see functions/regain_keys.sql. With :ids, only these.
select * from dibs.regain_keys(:behind_queue, :behind_id, :ids::uuid[]);
