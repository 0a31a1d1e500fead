-- Guests here whose sessions have not ended, as far as is known here: the next :limit after :after.
select id
from dibs.sessions
where is_guest and not ended and id > :after
order by id
limit (select :limit::integer);
