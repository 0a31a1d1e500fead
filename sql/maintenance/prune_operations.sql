-- Deletes operations that ended :days ago, and the oldest of each caller beyond :most_of_one. If there are more than
-- :most then, it keeps the newest of each caller, equally many as far as they have as many.
delete from dibs.operations
where id = any (array(
    select id
    from (
      select id, finished_at, nth_of_one, row_number() over (order by nth_of_one, id desc) as nth
      from (
        select id, finished_at, row_number() over (partition by actor order by id desc) as nth_of_one
        from dibs.operations
        where state <> 'running'
      ) as of_one
    ) as ended
    where finished_at <= now() - :days::integer * interval '1 day'
      or nth_of_one > :most_of_one::integer
      or nth > :most::integer
    limit :limit
  ))
returning id;
