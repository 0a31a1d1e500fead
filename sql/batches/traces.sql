-- Where the requests that created these batches belong in traces.
select id, traceparent from dibs.batches where id = any (:ids::uuid[]) and traceparent is not null;
