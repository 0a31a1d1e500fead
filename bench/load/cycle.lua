-- The mixed cycle: enqueue 1, claim 1, ack 1 as three requests. A cycle counts when it is acked.
-- Each connection sends one request at a time. The next request acks a claimed job. Without one, enqueues
-- and claims alternate, so that the queue stays as long as it was. Arguments: the queue, the job, and a prefix that no other
-- run has. In the job, # stands for the prefix and a number.
local report = require("report")
enqueued, claimed, acked, empty, failed = 0, 0, 0, 0, 0
setup = report.setup
done = report.done({ "enqueued", "claimed", "acked", "empty", "failed" })

local leases, free = {}, 0
local step, n = 0, 0
local enqueue, claim
local head, tail

function init(args)
  local at = args[2]:find("#", 1, true)
  local filler = at and args[3] .. "000000000"
  enqueue = report.post("/jobs", at and args[2]:gsub("#", filler) or args[2])
  if at then
    local from, to = enqueue:find(filler, 1, true)
    head, tail = enqueue:sub(1, from - 1) .. args[3], enqueue:sub(to + 1)
  end
  claim = report.post("/jobs/claim", '{"queues":["' .. args[1] .. '"]}')
end

function request()
  if free > 0 then
    local ack = leases[free]
    leases[free] = nil
    free = free - 1
    return ack
  end
  step = step + 1
  if step % 2 == 0 then return claim end
  if not head then return enqueue end
  n = n + 1
  return head .. string.format("%09d", n) .. tail
end

function response(status, headers, body)
  if status == 201 then
    enqueued = enqueued + 1
  elseif status ~= 200 then
    failed = failed + 1
  elseif body:sub(1, 8) == '{"jobs":' then
    local token = body:match('"lease_token":"([^"]+)"')
    if token then
      claimed = claimed + 1
      free = free + 1
      leases[free] = report.post("/jobs/" .. body:match('"id":"([^"]+)"') .. "/ack", '{"lease_token":"' .. token .. '"}')
    else
      empty = empty + 1
    end
  elseif body:find('"state":"completed"', 1, true) then
    acked = acked + 1
  else
    failed = failed + 1
  end
end
