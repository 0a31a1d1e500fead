-- Half of the connections enqueue with Prefer: wait, the other half are workers: claim 1, ack 1. A job counts when its producer
-- is answered with its end. Two threads. Arguments: the queue, the job.
local report = require("report")
finished, acked, late, empty, failed = 0, 0, 0, 0, 0
done = report.done({ "finished", "acked", "late", "empty", "failed" })

local leases, free = {}, 0
local enqueue, claim

function setup(thread)
  report.setup(thread)
  thread:set("role", #report.threads == 1 and "producer" or "worker")
end

function init(args)
  claim = report.post("/jobs/claim", '{"queues":["' .. args[1] .. '"],"wait_seconds":20}')
  enqueue = report.post("/jobs", args[2], "Prefer: wait=20\r\n")
end

function request()
  if role == "producer" then return enqueue end
  if free == 0 then return claim end
  local ack = leases[free]
  leases[free] = nil
  free = free - 1
  return ack
end

function response(status, headers, body)
  if role == "producer" then
    if status == 200 then finished = finished + 1 elseif status == 201 then late = late + 1 else failed = failed + 1 end
  elseif status ~= 200 then
    failed = failed + 1
  elseif body:sub(1, 8) == '{"jobs":' then
    local token = body:match('"lease_token":"([^"]+)"')
    if token then
      free = free + 1
      leases[free] = report.post("/jobs/" .. body:match('"id":"([^"]+)"') .. "/ack", '{"lease_token":"' .. token .. '","result":{"pages":12}}')
    else
      empty = empty + 1
    end
  else
    acked = acked + 1
  end
end
