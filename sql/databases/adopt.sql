-- In home: these queues of the database :database get places there, as far as their numbers and names are free.
select dibs.adopt(:ids::integer[], :names::text[], :database::text);
