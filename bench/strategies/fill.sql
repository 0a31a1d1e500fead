-- Inserts a job for each payload.
insert into queue (payload) select payload from unnest($1::text[]) as payload;
