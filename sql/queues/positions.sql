-- The next places in the order of arrival, for jobs that come back.
select nextval('dibs.positions') as position
from generate_series(1, :count::integer);
