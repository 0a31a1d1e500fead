-- The position of a job `j` that comes back, beside its id. One that gives up its place among the heads keeps the position that
-- groups/narrow.sql gave it: before all that are blocked.
case
  when j.is_head and j.head_place < 0 then j.position
  else (:positions::bigint[])[width_bucket(j.id, :ids::uuid[])]
end
