-- Spans link to the span that created the batch of their job: see docs/tracing.md.
-- oldest: 24

-- Where the request that created it belongs in a trace (W3C Trace Context). Null: in none, or it was created before this migration.
alter table dibs.batches add column traceparent text;
