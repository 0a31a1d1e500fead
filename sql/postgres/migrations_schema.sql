-- The schema. "if not exists" would ask for the right to create schemas, also where there is one.
create schema dibs;
