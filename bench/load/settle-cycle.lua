-- The cycle of two requests: enqueue 1; settle 1 and claim 1 in one. A cycle counts when it is acked.
-- Each connection sends one request at a time. Enqueues and settlements alternate, so that the queue stays as long as it was.
-- Until jobs are leased, it claims. Arguments: the queue, the job.
local report = require("report")
enqueued, claimed, acked, empty, failed = 0, 0, 0, 0, 0
setup = report.setup
done = report.done({ "enqueued", "claimed", "acked", "empty", "failed" })

local leases, free = {}, 0
local step = 0
local enqueue, claim, wish

function init(args)
  wish = '"claim":{"queues":["' .. args[1] .. '"]}}'
  enqueue = report.post("/jobs", args[2])
  claim = report.post("/jobs/settle", "{" .. wish)
end

function request()
  step = step + 1
  if step % 2 == 0 then return enqueue end
  if free == 0 then return claim end
  local settle = leases[free]
  leases[free] = nil
  free = free - 1
  return settle
end

function response(status, headers, body)
  if status == 201 then
    enqueued = enqueued + 1
    return
  end
  if status ~= 200 then
    failed = failed + 1
    return
  end
  local _, ok = body:gsub('"state":"completed"', "")
  acked = acked + ok
  local id, token = body:match('"jobs":%[{"id":"([^"]+)".-"lease_token":"([^"]+)"')
  if token then
    claimed = claimed + 1
    free = free + 1
    leases[free] = report.post("/jobs/settle", '{"acks":[{"id":"' .. id .. '","lease_token":"' .. token .. '"}],' .. wish)
  else
    empty = empty + 1
  end
end
