-- Writes down new jobs for a queue in another database, in the order given. Their payloads are read as JSON: what the other
-- database would refuse is refused here, by the commit that decides.
insert into dibs.relay (id, queue_id, queue, job, bytes, on_duplicate, unique_until)
select
  new.id, :queue_id, :queue, row(new.*)::dibs.new_job,
  octet_length(new.payload) + octet_length(new.headers),
  (:on_duplicates::text[])[array_position(:ids::uuid[], new.id)],
  (:unique_untils::text[])[array_position(:ids::uuid[], new.id)]
from
-- include shared/new_jobs.sql
where new.payload::json is not null
returning created_at;
