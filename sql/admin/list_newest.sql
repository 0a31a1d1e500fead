-- A page of jobs, newest first.
-- include shared/listed_jobs.sql
        and (:after::uuid is null or id < :after)
      order by id desc
      limit (select :limit::integer)
    ) as j
    where (:queue::text is null or q.name = :queue) and (:visible::text[] is null or q.name like any (:visible))
    order by j.id desc
    limit :limit
  ) as page
) as j
where bytes_before < :max_bytes::integer
order by j.id desc;
