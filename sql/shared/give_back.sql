-- Takes the leases of the jobs `j` with these ids and tokens away. It ends the SET of an UPDATE, and begins its WHERE. The
-- statement adds which dead jobs it touches.
lease_token = null,
lease_expires_at = null,
worker = null
where
  -- include shared/batch_by_id.sql
  and j.lease_token = (:lease_tokens::uuid[])[width_bucket(j.id, :ids::uuid[])]
  and j.state <> 'completed'
