-- The transactions and subtransactions from :first to before :last that are open. See call_point.sql.
select (id % 4294967296)::text as id
from generate_series(:first::bigint, :last::bigint - 1) as id
where pg_xact_status(id::text::xid8) = 'in progress';
