-- The headers of a follower, with the id of the batch that it follows.
case
  when {of}.headers::text = '{}' then json_build_object('dibs-batch', {of}.batch_id)
  else (left({of}.headers::text, -1) || ',"dibs-batch":"' || {of}.batch_id || '"}')::json
end
