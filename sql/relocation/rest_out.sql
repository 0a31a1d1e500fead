-- In the source: what else a queue has. The claims are those whose leases go along.
select
  (select coalesce(json_agg(l), '[]')::text from dibs.claim_limits l where l.queue_id = :queue_id) as limits,
  (select coalesce(json_agg(l), '[]')::text from dibs.claim_log l where l.queue_id = :queue_id) as log,
  (
    select coalesce(json_agg(c), '[]')::text
    from dibs.repeatable_claims c
    where c.holder in (
      select claim_holder from dibs.relocating_jobs where queue_id = :queue_id and state = 'leased'
    )
  ) as claims;
